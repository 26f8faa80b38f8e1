#!/usr/bin/env bash
# Has an engine in source form (Cocos2d-x v2, v3, v4, axmol 2, 3) count its objects by releasepool, in place.
#
#     capi/adopt.sh ENGINE [--prefix DIR]    adopts it, with the library installed in DIR, or by install.sh in ENGINE
#     capi/adopt.sh ENGINE --check           says what it would do, and what it does not recognise
#     capi/adopt.sh ENGINE --undo            restores the files
#
# ENGINE is the folder that has `cocos2dx`, `cocos`, `core` or `axmol`. The library is in ENGINE/releasepool (with
# `--prefix` a link), and the original files are in ENGINE/.releasepool. Ends with 1 if something is left to do by hand
# or stands in the way, with 2 for wrong arguments.
set -euo pipefail

fail() {
    echo "$1" >&2
    exit "${2:-1}"
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
engine='' prefix='' mode=adopt
while (($#)); do
    case $1 in
    --prefix)
        [[ ${2--} != -* ]] || fail "--prefix needs a folder" 2
        prefix=$2
        shift
        ;;
    --check | --undo)
        [[ $mode == adopt ]] || fail "--check or --undo, not both" 2
        mode=${1#--}
        ;;
    --help | -h)
        sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
        exit
        ;;
    -*) fail "unknown argument $1: adopt.sh ENGINE [--prefix DIR | --check | --undo]" 2 ;;
    *)
        [[ -z $engine ]] || fail "one engine at a time: $engine or $1?" 2
        engine=$1
        ;;
    esac
    shift
done
[[ -n $engine ]] || fail "which engine? give its folder" 2
[[ -d $engine ]] || fail "$engine is no folder" 2
if [[ -n $prefix ]]; then
    [[ -f $prefix/include/releasepool.hpp && -f $prefix/lib/cmake/releasepool/releasepoolConfig.cmake ]] ||
        fail "$prefix has no installed releasepool: $here/install.sh --prefix $prefix makes it" 2
    prefix=$(cd "$prefix" && pwd)
fi
cd "$engine"
kept=.releasepool

if [[ $mode == undo ]]; then
    [[ -d $kept ]] || fail "$engine was not adopted"
    left=0
    while IFS= read -r path; do
        if cmp -s "$path" "$kept/adopted/$path" || cmp -s "$path" "$kept/original/$path"; then
            cat "$kept/original/$path" >"$path"
            echo "$path: restored"
        else
            echo "$path: has changed since it was adopted, and is left alone: copy $kept/original/$path over it," \
                "and call --undo again" >&2
            left=1
        fi
    done < <(cd "$kept/original" && find . -type f | sed 's,^\./,,' | LC_ALL=C sort)
    ((left == 0)) || exit 1
    # A link of --prefix, or the tree that install.sh has made.
    if [[ -L releasepool ]]; then rm releasepool; else rm -rf releasepool; fi
    rm -rf "$kept"
    echo "restored; releasepool is removed"
    exit
fi

# Which version is it? `folder` is that of the counted class, `name`, and `top` the one below ENGINE that has everything.
manager=ScriptEngineManager::getInstance id=_luaID remove=removeScriptObjectByObject
number() { sed -n "s/.*#define[[:space:]]*$2[[:space:]]*\([0-9A-Fa-fx]*\).*/\1/p" "$1" | head -n 1; }
axmol() { echo "axmol $(number "$1" AX_VERSION_MAJOR).$(number "$1" AX_VERSION_MINOR).$(number "$1" AX_VERSION_PATCH)"; }
if [[ -f axmol/base/Object.h ]]; then
    version=$(axmol axmol/axmolver.h.in) top=axmol folder=axmol/base header=axmol3
    classes=(Object AutoreleasePool RefPtr WeakPtr)
    name=ax::Object script=axmol/base/ScriptSupport.h macro=AX_ENABLE_SCRIPT_BINDING
elif [[ -f core/axmolver.h.in && -f core/base/RefPtr.h ]]; then
    version=$(axmol core/axmolver.h.in) top=core folder=core/base header=axmol
    classes=(Object AutoreleasePool RefPtr Vector Map)
    # As axmol 2.0 and 2.1 call it.
    [[ -f core/base/Object.h ]] || classes[0]=Ref
    name=ax::${classes[0]} script=base/ScriptSupport.h macro=AX_ENABLE_SCRIPT_BINDING
elif [[ -f cocos/base/CCRef.h ]]; then
    hex=$(number cocos/cocos2d.h COCOS2D_VERSION)
    version="Cocos2d-x $((hex >> 16)).$((10#$(printf %x $((hex >> 8 & 255))))).$((hex & 255))"
    top=cocos folder=cocos/base header=cocos2d
    classes=(CCRef CCAutoreleasePool CCRefPtr CCVector CCMap)
    name=cocos2d::Ref script=base/CCScriptSupport.h macro=CC_ENABLE_SCRIPT_BINDING
elif [[ -f cocos2dx/cocoa/CCObject.h ]]; then
    version="Cocos2d-x 2" top=cocos2dx folder=cocos2dx/cocoa header=cocos2d_v2
    classes=(CCObject CCAutoreleasePool CCZone)
    name=cocos2d::CCObject script=script_support/CCScriptSupport.h macro=''
    manager=CCScriptEngineManager::sharedManager id=m_nLuaID remove=removeScriptObjectByCCObject
else
    fail "$engine is no engine that this knows: it has none of cocos2dx/cocoa/CCObject.h (Cocos2d-x 2), cocos/base/CCRef.h (3, 4),
core/axmolver.h.in with core/base/RefPtr.h (axmol 2), axmol/base/Object.h (axmol 3)" 2
fi
case $version in
"Cocos2d-x "[234]* | "axmol "[23].*) ;;
*) fail "$engine is $version: this knows Cocos2d-x 2 to 4, and axmol 2 and 3" 2 ;;
esac
echo "$engine is $version"
if [[ -d $kept ]]; then
    while IFS= read -r path; do
        cmp -s "$path" "$kept/adopted/$path" || fail "${path#./} is not as it was adopted: --undo restores the others"
    done < <(cd "$kept/adopted" && find . -type f)
    echo "already adopted, with the library in $(readlink -f releasepool); --undo restores it"
    [[ ! -f $kept/.by_hand ]] || fail "$(cat "$kept/.by_hand")"
    exit
fi
[[ ! -e releasepool ]] || fail "$engine/releasepool is in the way: remove it, if an interrupted run has left it"
[[ -n $prefix || $mode == check ]] || command -v cargo >/dev/null ||
    fail "building the library needs cargo (https://rustup.rs); or give --prefix DIR, where it is installed" 2

# The new files are made here first.
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
by_hand=0
# Takes the new text of a file; says what it is.
put() {
    mkdir -p "$new/$(dirname "$1")"
    cat >"$new/$1"
    echo "$1: $2"
}
# Changes a file by sed; says what for, or what a reader must do if sed finds nothing.
change() {
    local path=$1 what=$2 hand=$3 text=$1
    shift 3
    [[ ! -f $new/$path ]] || text=$new/$path
    if [[ -f $path ]] && ! sed -E "$@" "$text" | cmp -s - "$text"; then
        sed -E "$@" "$text" >"$new/.text"
        put "$path" "$what" <"$new/.text"
    else
        echo "$path: NOT RECOGNISED: $hand" | tee -a "$new/.by_hand"
        by_hand=1
    fi
}

mark="By releasepool's adopt.sh; the original is in $kept/original."
for class in "${classes[@]}"; do
    [[ ! -f $folder/$class.h ]] || put "$folder/$class.h" "includes releasepool/$header.hpp" <<END
// $mark
#if defined(RELEASEPOOL_${header^^}_HPP) && !defined(RP_COCOS_ADOPTED)
#error "in an adopted engine, include this header instead of releasepool/$header.hpp"
#endif
#define RP_COCOS_ADOPTED
#include "../../releasepool/include/releasepool/$header.hpp"
END
    # The names stay in the lists of sources, of whatever build.
    [[ ! -f $folder/$class.cpp || $class == "${classes[0]}" ]] || put "$folder/$class.cpp" "is empty" <<<"// $mark"
done

# The destructor is all that stays in the class's own source: Lua must forget the object, JavaScript (v2, v3) any object.
class=${name#*::} space=${name%%::*} javascript=''
! grep -qs kScriptTypeJavascript "$top/$script" || javascript=" || engine->getScriptType() == $space::kScriptTypeJavascript"
tell="    auto* const engine = $space::$manager()->getScriptEngine();
    if (engine != nullptr && ($id != 0$javascript)) {
        engine->$remove(this);
    }"
[[ -z $macro ]] || tell="#if defined($macro) && $macro
$tell
#endif"
put "$folder/${classes[0]}.cpp" "has the destructor, which tells the script engine" <<END
// $mark
#include "${classes[0]}.h"
#include "$script"

$name::~$class() {
$tell
}
END

scope='in the loop of the worker thread, call the task in a scope: { rp::CallbackScope scope; task(); }'
# shellcheck disable=SC2016
around='s/^([[:space:]]*)(task\((thread_data\.get\(\))?\);)/\1{\
\1    rp::CallbackScope scope;  \/\/ releases what the task autoreleases\
\1    \2\
\1}/'
for path in "$folder"/{CC,}AsyncTaskPool.h "$folder/JobSystem.cpp"; do
    [[ ! -f $path ]] || change "$path" "runs each task in a callback scope" "$scope" "$around"
done

# Everything that sets an older standard, wherever it is.
older='(std=(c|gnu)\+\+|CMAKE_CXX_STANDARD )(98|03|0x|11|1y|14)'
while IFS= read -r path; do
    change "${path#./}" "asks for C++17" '' "s/$older/\\117/g"
done < <(find . \( -name .git -o -name external -o -name 3rdparty \) -prune -o -type f \
    \( -name CMakeLists.txt -o -name '*.cmake' -o -name '*.mk' -o -name Makefile \) -exec grep -lE "$older" {} + | LC_ALL=C sort)

if [[ -f $top/CMakeLists.txt ]]; then
    cat >"$new/.block" <<'END'
# By releasepool's adopt.sh.
find_package(releasepool REQUIRED CONFIG PATHS "${CMAKE_CURRENT_LIST_DIR}/../releasepool" NO_DEFAULT_PATH
  NO_CMAKE_FIND_ROOT_PATH)
END
    library='^[[:space:]]*add_library\((cocos2d|\$\{_AX_CORE_LIB\}) .*\)'
    target=$(sed -nE "s/$library.*/\\1/p" "$top/CMakeLists.txt" | head -n 1)
    echo "target_link_libraries($target releasepool::static)" >>"$new/.block"
    change "$top/CMakeLists.txt" "links releasepool::static" "link releasepool::static to the engine's target" \
        "/$library/r $new/.block"
fi
if [[ -f cocos2dx/proj.linux/cocos2dx.mk ]]; then
    put cocos2dx/proj.linux/cocos2dx.mk "asks for C++17, links the shared library" < <(
        cat cocos2dx/proj.linux/cocos2dx.mk - <<'END'

# By releasepool's adopt.sh.
CXXFLAGS += -std=c++17
INCLUDES += -I$(COCOS_ROOT)/releasepool/include
SHAREDLIBS += -L$(COCOS_ROOT)/releasepool/lib -Wl,-rpath,$(abspath $(COCOS_ROOT)/releasepool/lib) -lreleasepool
END
    )
fi
echo "for other systems, ndk-build, Xcode and Visual Studio, docs/PORTING.md says what to do"

if [[ $mode == adopt ]]; then
    if [[ -n $prefix ]]; then
        ln -s "$prefix" releasepool
        echo "releasepool: a link to $prefix"
    else
        "$here/install.sh" --prefix "$PWD/releasepool" || {
            rm -rf releasepool
            fail "$engine is as before: the library could not be installed"
        }
    fi
    (cd "$new" && find . -type f ! -name '.*' | sed 's,^\./,,') | while IFS= read -r path; do
        mkdir -p "$kept"/{original,adopted}/"$(dirname "$path")"
        cp "$path" "$kept/original/$path"
        cp "$new/$path" "$kept/adopted/$path"
        cat "$new/$path" >"$path"
    done
    ((by_hand == 0)) || cp "$new/.by_hand" "$kept/"
    echo "adopted: now build the engine and the game again"
else
    echo "nothing was changed"
fi
exit $by_hand
