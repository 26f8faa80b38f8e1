#!/usr/bin/env bash
# Builds the C library and installs it: headers, shared and static library, pkg-config file, CMake package.
#
#     capi/install.sh --prefix DIR [--features LIST] [--destdir DIR] [--built DIR]
#
# The installed tree can be moved: its files name each other by relative paths. `--built` takes libraries
# that Cargo has put into DIR, instead of building them.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix= destdir= features= built=
while (($#)); do
    case $1 in
    --prefix) prefix=$2 ;;
    --destdir) destdir=$2 ;;
    --features) features=$2 ;;
    --built) built=$2 ;;
    *)
        echo "unknown argument $1; see the beginning of $0" >&2
        exit 2
        ;;
    esac
    shift 2
done
if [[ -z $prefix ]]; then
    echo "where to? give --prefix DIR" >&2
    exit 2
fi

if [[ -z $built ]]; then
    (cd "$here" && cargo build --release --package releasepool-capi ${features:+--features "$features"})
    built=$(cd "$here" && cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release
fi
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$here/../Cargo.toml" | head -n 1)
so=libreleasepool.so

to=$destdir$prefix
mkdir -p "$to"/{include/releasepool/{detail,axmol3/axmol/base},lib/pkgconfig,lib/cmake/releasepool}
install -m 644 "$here"/include/releasepool.h "$here"/include/releasepool.hpp "$to/include/"
for folder in releasepool releasepool/detail releasepool/axmol3/axmol/base; do
    install -m 644 "$here/include/$folder"/*.h* "$to/include/$folder/"
done

install -m 755 "$built/libreleasepool_capi.so" "$to/lib/$so.$version"
ln -sf "$so.$version" "$to/lib/$so.0"
ln -sf "$so.0" "$to/lib/$so"

install -m 644 "$built/libreleasepool_capi.a" "$to/lib/libreleasepool.a"

# What a program links besides the static library. The compiler adds the unwinder of its C library by itself:
# libgcc_s, or libgcc_eh with -static.
private="-lpthread -ldl -lm"

# pkg-config has no name for "the static one of two": `--static` adds only what is private.
pc() {
    cat >"$to/lib/pkgconfig/$1.pc" <<END
prefix=\${pcfiledir}/../..
includedir=\${prefix}/include
libdir=\${prefix}/lib
# To be put before the engine's own folder on the include path.
axmol3dir=\${includedir}/releasepool/axmol3

Name: releasepool
Description: Counted objects and autorelease pools that are safe and fast on every thread
Version: $version
Cflags: -I\${includedir}
Libs: $2
Libs.private: $3
END
}
pc releasepool "-L\${libdir} -lreleasepool" "$private"
pc releasepool-static "\${libdir}/libreleasepool.a $private" ""

cat >"$to/lib/cmake/releasepool/releasepoolConfig.cmake" <<'END'
# Targets: releasepool::releasepool (shared) and releasepool::static.
get_filename_component(_releasepool_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
# For target_include_directories(... BEFORE ...), ahead of the engine's own folder.
set(releasepool_AXMOL3_DIR "${_releasepool_prefix}/include/releasepool/axmol3")
if(NOT TARGET releasepool::releasepool)
  # Global: a program in another folder than the library that links them finds them, too.
  add_library(releasepool::releasepool SHARED IMPORTED GLOBAL)
  set_target_properties(releasepool::releasepool PROPERTIES
    IMPORTED_LOCATION "${_releasepool_prefix}/lib/libreleasepool.so"
    IMPORTED_SONAME "libreleasepool.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${_releasepool_prefix}/include")
  add_library(releasepool::static STATIC IMPORTED GLOBAL)
  set_target_properties(releasepool::static PROPERTIES
    IMPORTED_LOCATION "${_releasepool_prefix}/lib/libreleasepool.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_releasepool_prefix}/include"
    INTERFACE_LINK_LIBRARIES "-pthread;${CMAKE_DL_LIBS};m")
endif()
END
cat >"$to/lib/cmake/releasepool/releasepoolConfigVersion.cmake" <<END
set(PACKAGE_VERSION "$version")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
END
echo "installed releasepool $version in $to"
