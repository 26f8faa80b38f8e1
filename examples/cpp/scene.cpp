// A scene graph that a render thread draws while workers change it and a texture thread loads what it needs:
// 60 frames, without a lock around any object.
//
// * The render thread makes frames. What it autoreleases in a frame is released at the frame's end, within
//   the frame's time.
// * Workers build new scenes and put them into a slot; the render thread reads the slot without counting.
// * The texture thread owns textures: whichever thread drops the last reference, a texture dies at home.
#include <releasepool.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<int> textures_alive{0};

// Belongs to the texture thread, as the objects of a graphics context do.
struct Texture : rp::Object {
    explicit Texture(std::string name_) : name(std::move(name_)), home(std::this_thread::get_id()) {
        ++textures_alive;
    }
    ~Texture() override {
        if (home != std::this_thread::get_id()) {
            std::fprintf(stderr, "a texture died on a foreign thread\n");
            std::abort();
        }
        --textures_alive;
    }
    std::string name;
    std::thread::id home;
};

struct Node : rp::Object {
    explicit Node(int id_) : id(id_) {}
    int id;
    rp::HomeRef<Texture> texture;
    std::vector<rp::Ref<Node>> children;
};

// A temporary value of a frame.
struct Transform {
    float x, y, angle;
};

int draw(const Node& node, float x) {
    const Transform* at = rp::create<Transform>(Transform{x, x * 2, 0});
    int drawn = at->x >= 0 ? 1 : 0;
    for (const rp::Ref<Node>& child : node.children) {
        drawn += draw(*child, at->x + 1);
    }
    return drawn;
}

// Builds a scene of 1 + 3 + 9 nodes, with `texture` on the 9 leaves.
rp::Ref<Node> build(int version, const rp::HomeRef<Texture>& texture) {
    rp::Ref<Node> root = rp::make<Node>(version);
    for (int i = 0; i < 3; ++i) {
        rp::Ref<Node> branch = rp::make<Node>(i);
        for (int j = 0; j < 3; ++j) {
            rp::Ref<Node> leaf = rp::make<Node>(j);
            leaf->texture = texture;
            branch->children.push_back(leaf);
        }
        root->children.push_back(branch);
    }
    return root;
}

// A thread that runs what is posted to it.
class Worker {
public:
    Worker() {
        std::atomic<bool> ready{false};
        thread_ = std::thread([this, &ready] {
            handle_ = std::make_unique<rp::Thread>(rp::Thread::current());
            ready = true;
            while (!stop_) {
                rp::run_inbox();
                std::this_thread::yield();
            }
            rp::run_inbox();
        });
        while (!ready) {
            std::this_thread::yield();
        }
    }
    ~Worker() {
        stop_ = true;
        thread_.join();
    }
    template <class F> void post(F f) { handle_->post(std::move(f)); }
    // Waits until everything that was posted so far has run.
    void finish() {
        std::atomic<bool> done{false};
        post([&done] { done = true; });
        while (!done) {
            std::this_thread::yield();
        }
    }

private:
    std::atomic<bool> stop_{false};
    std::unique_ptr<rp::Thread> handle_;
    std::thread thread_;
};

struct Scene {
    rp::Slot<Node> root{rp::make<Node>(0)};
    long drawn = 0;
};

void frame(void* data) {
    auto* const scene = static_cast<Scene*>(data);
    rp::AutoreleasePool pool("scene");
    if (Node* root = scene->root.load(pool)) {
        scene->drawn += draw(*root, 0);
    }
}

} // namespace

int main() {
    Scene scene;
    {
        Worker texture_thread;
        Worker workers[2];
        rp_frame_config config{2000000, 0};
        rp_frame_loop* const frames = rp_frame_loop_new(&config);
        for (int n = 1; n <= 60; ++n) {
            // The texture thread makes a texture, then a worker makes a scene with it.
            Worker& worker = workers[n % 2];
            texture_thread.post([n, &scene, &worker] {
                const rp::HomeRef<Texture> texture(rp::make<Texture>("grass " + std::to_string(n)));
                worker.post([n, &scene, texture] { scene.root.store(build(n, texture)); });
            });
            rp_frame_loop_tick(frames, frame, &scene, nullptr);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        rp_frame_loop_free(frames);
        // The end: first the thread that posts, then the workers to which it posts, then the scene.
        // The texture thread still runs, and destroys the textures.
        texture_thread.finish();
        workers[0].finish();
        workers[1].finish();
        scene.root.store(nullptr);
        rp_quiesce(nullptr, 1000000000);
    }
    std::printf("60 frames, %ld nodes drawn, %d textures left\n", scene.drawn, textures_alive.load());
    return textures_alive == 0 && scene.drawn > 60 ? 0 : 1;
}
