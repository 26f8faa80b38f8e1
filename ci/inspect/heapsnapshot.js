// Loads a heap snapshot with a package that parses those of Chrome, and compares it with the report
// of `top --json`: types, objects, retainers and retained sizes.
const { getFullHeapFromFile } = require('@memlab/heap-analysis');
const assert = require('node:assert');
const fs = require('node:fs');

async function main([file, top]) {
  const heap = await getFullHeapFromFile(file);
  const expected = new Map(
    JSON.parse(fs.readFileSync(top, 'utf8')).types.map((type) => [type.name, type]),
  );
  const found = new Map();
  let plain = 0, edges = 0, dominated = 0, retainers = 0;
  heap.nodes.forEach((node) => {
    edges += node.edge_count;
    if (node.type === 'object') {
      const sum = found.get(node.name) ?? { objects: 0, bytes: 0 };
      sum.objects += 1;
      sum.bytes += node.self_size;
      found.set(node.name, sum);
      retainers += node.referrers.length;
      dominated += node.dominatorNode ? 1 : 0;
      assert(node.retainedSize >= node.self_size || !node.dominatorNode, node.name);
    } else if (node.type === 'native') {
      plain += 1;
    }
  });
  assert.equal(heap.edges.length, edges, 'each edge belongs to a node');
  assert.equal(found.size, expected.size, 'types');
  for (const [name, sum] of found) {
    const { objects, dead, bytes } = expected.get(name);
    assert.deepEqual(sum, { objects: objects + dead, bytes }, name);
  }
  assert(plain > 0 && retainers > 0 && dominated > 0);
  console.log(`${heap.nodes.length} nodes, ${edges} edges, ${found.size} types: as expected`);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
