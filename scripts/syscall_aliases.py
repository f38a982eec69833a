# SPDX-License-Identifier: GPL-2.0-or-later
"""The aliases of system calls that scripts/syscall-tapset writes, with their doc comments."""
import re
import sys
import textwrap

NEVER_RETURN = {"exit", "exit_group"}
# The kernel's name of a call in unistd_64.h, where it is another one.
ENTRIES = {"stat": "newstat", "fstat": "newfstat", "lstat": "newlstat", "uname": "newuname", "sendfile": "sendfile64",
           "umount2": "umount"}
# The variables that the comment of a file describes for all its calls.
COMMON = {"name", "argstr", "retval", "retstr"}


def wrapped(text, first, others):
    return textwrap.wrap(text, 116, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False)


class Argument:
    """An argument of a call: its variables, and its part of argstr."""

    def __init__(self, name, ctype, variable, decoder):
        self.name, self.type, self.variable, self.decoder = name, ctype, variable, decoder
        self.stem = re.sub(r"_(uaddr|str)$", "", variable)

    def narrow(self):
        """Whether the value is a signed number of 32 bits, but the kernel's type is another one."""
        return self.decoder in ("fd", "id", "dirfd") or (self.decoder == "d" and self.type in ("unsigned int", "u32"))

    def raw(self):
        """Returns the expression of the argument as the kernel's function gets it."""
        return f"${self.name}"

    def value(self):
        """Returns the expression of the argument as the alias has it."""
        return f"({self.raw()} << 32) >> 32" if self.narrow() else self.raw()

    def statements(self):
        if self.decoder == "s":
            if self.variable.endswith("_uaddr"):
                return [f"{self.variable} = {self.raw()}", f"{self.stem}_str = __text_str({self.variable})",
                        f'{self.stem}_str_unquoted = user_string({self.variable}, "")']
            return [f"{self.stem}_uaddr = {self.raw()}", f"{self.variable} = __text_str({self.stem}_uaddr)",
                    f'{self.variable}_unquoted = user_string({self.stem}_uaddr, "")']
        made = [f"{self.variable} = {self.value()}"]
        if self.decoder == "text":
            made += [f"{self.variable}_str = __text_str({self.variable})",
                     f'{self.variable}_str_unquoted = user_string({self.variable}, "")']
        elif self.decoder.startswith("n:"):
            made.append(f"{self.variable}_str = {self.decoder[2:]}({self.variable})")
        elif self.decoder not in ("d", "u", "x", "o", "fd", "id", "p", "out", "mode"):
            function, _, other = self.decoder.partition("/")
            made.append(f"{self.stem}_str = __{function}_str({self.variable}{', ' + other if other else ''})")
        return made

    def shown(self):
        """Returns the conversion and the value in argstr."""
        if self.decoder in ("d", "fd", "id"):
            return "%d", self.variable
        if self.decoder in ("u", "o", "mode"):
            return "%u" if self.decoder == "u" else "%#03o", self.variable
        if self.decoder == "x":
            return "%s", f"__hex_str({self.variable})"
        if self.decoder in ("p", "out"):
            return "%s", f"__address_str({self.variable})"
        if self.decoder == "s":
            return "%s", f"{self.stem}_str" if self.variable.endswith("_uaddr") else self.variable
        if self.decoder == "text" or self.decoder.startswith("n:"):
            return "%s", f"{self.variable}_str"
        return "%s", f"{self.stem}_str"

    def described(self, position):
        """Returns [(variable, meaning)], in the order of statements()."""
        kind = {"fd": ", a file descriptor", "dirfd": ", a directory's descriptor, or AT_FDCWD", "id": ", a user or group ID",
                "mode": ", permissions", "out": ", where the call writes"}.get(self.decoder, "")
        names = [each.split(" = ")[0] for each in self.statements()]
        texts = [f"argument {position}{kind} ({self.type})"]
        if self.decoder == "s":
            texts += [f"the text at {names[0]}, quoted", "the same without quotes"]
        elif self.decoder == "text":
            texts += [f"the text at {names[0]}, quoted", "the same without quotes"]
        elif self.decoder.startswith("n:"):
            texts += [f"{names[0]} by name"]
        else:
            texts += [f"{names[0]} as text"]
        return list(zip(names, texts))


class Call:
    """A system call of 64-bit programs."""
    FAMILIES = ("syscall", "nd_syscall")

    def __init__(self, entry, source, arguments, rules):
        self.entry, self.source = entry, source
        self.rules = rules
        settings = rules.calls.get(entry, {})
        self.alias = settings.get("alias", entry)
        self.name = settings.get("called", entry)
        self.result = settings.get("prints", "d")
        self.returns, self.also = rules.returns.get(self.alias, []), rules.also.get(entry, [])
        self.argstr = rules.argstr.get(entry)
        self.arguments = [self.argument(name, ctype, settings.get(name, ":"), rules) for name, ctype in arguments]
        unknown = set(settings) - {"alias", "called", "prints"} - {name for name, _ in arguments}
        if unknown:
            sys.exit(f"{entry}: no argument {', '.join(sorted(unknown))}")

    def function(self):
        """Returns the name of the kernel's function."""
        return f"sys_{self.entry}"

    def argument(self, name, ctype, setting, rules):
        variable, _, decoder = setting.partition(":")
        for type_pattern, name_pattern, template, usual in rules.arguments:
            if type_pattern.fullmatch(ctype) and name_pattern.fullmatch(name):
                break
        if not variable:
            variable = template.replace("=", name.lstrip("_"))
        return Argument(name, ctype, variable, decoder or usual)

    def comment(self):
        """Returns the doc comment of the alias and its .return."""
        if self.entry not in self.rules.does:
            sys.exit(f"{self.entry}: the table has no `does`")
        suffix = "" if self.entry in NEVER_RETURN else ", .return"
        call = next((name for name, entry in ENTRIES.items() if entry == self.entry), self.entry)
        points = ", ".join(f"{family}.{self.alias}{suffix}" for family in self.FAMILIES)
        lines = wrapped(f"{points}: {call}(2) {self.rules.does[self.entry]}.", "// ", "// ")
        rows = [row for i, argument in enumerate(self.arguments) for row in argument.described(i + 1)]
        known = {name for name, _ in rows} | COMMON
        for statement in self.also + self.returns:
            name, value = statement.split(" = ", 1)
            if name in known:
                continue
            known.add(name)
            # Another name of a variable, else what the table tells.
            same = [other for other, _ in rows if other == value]
            rows.append((name, f"the same as {same[0]}" if same else self.meaning(name, value)))
        for name, text in rows:
            lines += wrapped(f"{name}: {text}", "//   ", "//     ")
        return "".join(line + "\n" for line in lines)

    def meaning(self, name, value):
        if name in self.rules.variables:
            return self.rules.variables[name]
        source = re.match(r"__\w+_str\((\w+)\)", value)
        if source:
            return f"{source[1]} as text"
        source = re.match(r"user_string(?:_n2)?\((\w+)", value)
        if source:
            return f"the text at {source[1]}, without quotes"
        return sys.exit(f"{self.entry}: the table has no `variable {name}`")

    def text(self):
        def first(suffix):
            points = " = ".join(f"{family}.{self.alias}{suffix}" for family in self.FAMILIES)
            return f'probe {points} = kernel.function("{self.function()}")'

        lines = [f'name = "{self.name}"']
        late = []  # what needs another variable comes behind it
        for argument in self.arguments:
            statements = argument.statements()
            lines.append(statements[0])
            late += statements[1:]
        lines += late + [each for each in self.also]
        if self.argstr:
            lines.append(self.argstr)
        elif self.arguments:
            shown = [each.shown() for each in self.arguments]
            lines.append('argstr = sprintf("{}", {})'.format(", ".join(each for each, _ in shown),
                                                            ", ".join(each for _, each in shown)))
        else:
            lines.append('argstr = ""')
        text = self.comment() + first("") + ".call {\n" + "".join(f"    {line}\n" for line in lines) + "}\n"
        if self.entry not in NEVER_RETURN:
            result = {"d": "__result_str(retval)", "x": "__address_result_str(retval)", "o": "__mask_result_str(retval)"}
            lines = [f'name = "{self.name}"', "retval = $return", f"retstr = {result[self.result]}", *self.returns]
            text += first(".return") + ".return {\n" + "".join(f"    {line}\n" for line in lines) + "}\n"
        return text
