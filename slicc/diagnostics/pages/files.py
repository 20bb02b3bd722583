"""Findings about files and includes, mostly of the loader."""

from slicc.diagnostics.code import Code

CODES: tuple[Code, ...] = (
    Code(
        "include-not-found",
        "an included file does not exist",
        what="The file was looked for beside the including file, then in the include roots: the "
        "directory of the file\nnamed on the command line, its parent, and every `--include DIR`.",
        why="Everything the file declares is missing.",
        example='include "MI-mesage.sm";',
        instead='include "MI-message.sm";',
    ),
    Code(
        "include-outside-roots",
        "an include leaves the protocol's directories",
        what="Included files must lie inside the include roots, also after `..` and symbolic "
        "links are followed.",
        why="A protocol from another source could otherwise read any file of yours.",
        example='include "/etc/passwd";',
        instead='include "common.sm";',
    ),
    Code(
        "include-cycle",
        "a file includes itself",
        what="The file is already being read: it includes itself, directly or through others.",
        why="The text would be endless.",
        example='// in common.sm\ninclude "common.sm";',
        instead="// in common.sm: nothing; including it once elsewhere is enough",
    ),
    Code(
        "too-many-includes",
        "more includes than any protocol needs",
        what="Includes may be nested 32 deep, and one protocol may splice 1000 files.",
        why="Files that include others twice grow without bound.",
        example='// in a.sm, and so on from b.sm to k.sm\ninclude "b.sm";\ninclude "b.sm";',
        instead='// in a.sm, and so on from b.sm to k.sm\ninclude "b.sm";',
    ),
    Code(
        "duplicate-protocol",
        "a protocol has two names",
        what="`protocol` may occur once among a driver and everything it includes.",
        why="It is not clear which name is meant.",
        example='protocol "MI";\nprotocol "MESI";',
        instead='protocol "MI";',
    ),
    Code(
        "invalid-protocol-name",
        "a protocol name that cannot name files",
        what="The name consists of letters, digits, `_` and inner `-`, and begins with a letter or "
        "`_`.",
        why="Directories and files are named after the protocol.",
        example='protocol "../MI";',
        instead='protocol "MI";',
    ),
    Code(
        "unreadable-file",
        "a file cannot be read",
        what="The operating system refuses, or the path is not a regular file.",
        why="Its declarations are missing.",
        example='include "directory/";',
        instead='include "directory/file.sm";',
    ),
    Code(
        "not-utf8",
        "a file is not UTF-8 text",
        what="Protocols are UTF-8 text. The message points at the first byte that is not.",
        why="Comments and strings would be shown wrongly.",
        example='// saved as Latin-1\naction(a, desc="Zustand für Leser") { }',
        instead='// saved as UTF-8\naction(a, desc="Zustand für Leser") { }',
    ),
    Code(
        "file-too-large",
        "a file is too large",
        what="One file may hold 16 MiB.",
        why="It is hardly a protocol, and reading it would take very long.",
        example='include "tables.sm";  // a file of 20 MiB',
        instead='include "tables-1.sm";  // two files of 10 MiB\ninclude "tables-2.sm";',
    ),
    Code(
        "invalid-prelude",
        "something that has no place in a prelude",
        what="A prelude file (`--prelude`) holds what a user library adds to ours: "
        "enumerations, structures, external types, functions, and constants with a value.",
        why="Machines, actions, ports and transitions are the protocol itself.",
        example='action(a, desc="send") { }',
        instead="bool isHot(Addr address) { return false; }",
    ),
)
