"""How gdb and lldb show references, pools and slots of releasepool.

gdb loads this file from the program's debug information, where its `auto-load safe-path` permits it;
otherwise `source releasepool.py` does. In lldb: `command script import releasepool.py`.
"""

import re

WORD = 8
HANDLES = ("Ref", "Weak", "PoolRef", "HomeRef", "HotRef", "Slot", "OptionSlot")
POOLS = ("AutoreleasePool", "HandoffPool")
TYPE = r"^releasepool::(?:\w+::)*(%s)(?:<.*>)?$" % "|".join(HANDLES + POOLS)


def describe(name, payload, word):
    """Describes a handle, whose object has its count word 16 bytes before the payload."""
    if payload in (0, 2**64 - 1):
        return f"{name} (empty)"
    count = word(payload - 16)
    strong, weak = ((count >> 32) + 1) & 0xFFFFFFFF, (count & 0xFFFFFFFF) >> 1
    state = "" if strong > 0 and count & 1 else ", dead"
    return f"{name} (strong {strong}, weak {weak}{state}) {payload:#x}"


def pool(name, label, entries):
    """Describes a pool by its name and the number of its entries."""
    label = f' "{label}"' if label else ""
    return f"{name}{label} ({entries} {'entry' if entries == 1 else 'entries'})"


def with_gdb(gdb):
    import gdb.types

    def word(address):
        memory = gdb.selected_inferior().read_memory(address, WORD)
        return int.from_bytes(bytes(memory), "little")

    def inner(value):
        """Returns what is in cells and the like, a pointer, and for slices the number of elements."""
        while value.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
            fields = [f.name for f in value.type.strip_typedefs().fields() if f.type.sizeof]
            if "length" in fields:
                return value[fields[0]], int(value["length"])
            value = value[fields[0]]
        return value, None

    class Handle:
        def __init__(self, name, value):
            self.pointer, self.length = inner(value)
            self.text = describe(name, int(self.pointer), word)

        def to_string(self):
            return self.text

        def children(self):
            if "(empty)" in self.text or ", dead" in self.text:
                return
            if self.length is None:
                yield "value", self.pointer.dereference()
            for index in range(self.length or 0):
                yield f"[{index}]", (self.pointer + index).dereference()

    class Pool:
        def __init__(self, name, value):
            self.name, self.label = name, ""
            if name == "AutoreleasePool":
                value = inner(value)[0].dereference()
                label = value["name"]
                while not gdb.types.has_field(label.type, "at"):
                    label = label[label.type.fields()[0]]
                size = int(label["len"])
                if size:
                    text = gdb.selected_inferior().read_memory(int(label["at"]), size)
                    self.label = bytes(text).decode()
            self.entries = value["entries"]

        def addresses(self):
            """Returns the objects in the pool, the last one first."""
            page, top = (inner(self.entries[name])[0] for name in ("page", "top"))
            top = int(top)
            while int(page):
                entries = page.dereference()["entries"]
                for place in range(top - WORD, int(entries.address) - WORD, -WORD):
                    yield word(place)
                page = inner(page.dereference()["prev"])[0]
                top = int(page) and int(page.dereference()["entries"].address) + entries.type.sizeof

        def to_string(self):
            return pool(self.name, self.label, sum(1 for _ in self.addresses()))

        def children(self):
            for index, address in enumerate(self.addresses()):
                yield f"[{index}]", describe("object", address, word)

    def look_up(value):
        found = re.match(TYPE, value.type.strip_typedefs().name or "")
        if found:
            return (Handle if found[1] in HANDLES else Pool)(found[1], value)
        return None

    gdb.pretty_printers.append(look_up)


def with_lldb(lldb):
    global summary

    def inner(value):
        while not value.GetType().IsPointerType() and value.GetNumChildren():
            children = [value.GetChildAtIndex(i) for i in range(value.GetNumChildren())]
            value = next((c for c in children if c.GetByteSize()), children[0])
        return value

    def summary(value, _):
        value = value.GetNonSyntheticValue()
        process = value.GetProcess()
        read = lambda address: process.ReadUnsignedFromMemory(address, WORD, lldb.SBError())
        name = re.match(TYPE, value.GetType().GetUnqualifiedType().GetName())[1]
        if name in HANDLES:
            return describe(name, inner(value).GetValueAsUnsigned(), read)
        label = ""
        if name == "AutoreleasePool":
            value = inner(value).Dereference()
            text = value.GetChildMemberWithName("name")
            while not text.GetChildMemberWithName("at").IsValid() and text.GetNumChildren():
                text = text.GetChildAtIndex(0)
            at, size = (text.GetChildMemberWithName(n).GetValueAsUnsigned() for n in ("at", "len"))
            if size:
                label = process.ReadMemory(at, size, lldb.SBError()).decode()
        entries = value.GetChildMemberWithName("entries")
        place = lambda name: inner(entries.GetChildMemberWithName(name))
        page, top, start = (place(name) for name in ("page", "top", "start"))
        number = (top.GetValueAsUnsigned() - start.GetValueAsUnsigned()) // WORD
        if page.GetValueAsUnsigned():
            number += inner(page.Dereference().GetChildMemberWithName("below")).GetValueAsUnsigned()
        return pool(name, label, number)

    def install(debugger, _):
        debugger.HandleCommand(f"type summary add -w rust -e -x '{TYPE}' -F {__name__}.summary")
        debugger.HandleCommand("type category enable rust")

    return install


try:
    import gdb
except ImportError:
    import lldb

    __lldb_init_module = with_lldb(lldb)
else:
    with_gdb(gdb)
