// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel that does not exist, with headers, a Kbuild of a few lines and a runtime of a few
// functions: a kit is built in a second.
#pragma once
#include "image/kernel.h"
#include "made_kit.h"
#include "module/kit_build.h"
#include "module/parts.h"

#include <memory>

namespace djstap::module::test {

// The commands are those of scripts/Makefile.build and scripts/Makefile.modfinal.
inline constexpr const char* made_makefile = R"make(
include $(M)/Kbuild
CC := gcc
squote := '
try-run = $(shell TMP=$(M)/.try; if ($(1)) >/dev/null 2>&1; then echo '$(2)'; else echo '$(3)'; fi)
cc-option = $(call try-run,$(CC) -Werror $(flags) $(1) -c -x c /dev/null -o "$$TMP",$(1),$(2))
flags := -O2 -I./include -fno-pic -fcf-protection=none -fno-asynchronous-unwind-tables
flags += $(call cc-option,-fno-such-option)
flags += $(call cc-option,-fno-strict-overflow)
parts := $(addprefix $(M)/,$($(DJS_NAME)-y))
cmd = $(CC) -Wp,-MMD,$(@D)/.$(@F).d $(flags) $(ccflags-y) $(KCFLAGS) \
  -DKBUILD_BASENAME='"$(*F)"' -c -o $@ $< $(OBJTOOL)
modules: $(M)/$(DJS_NAME).ko
$(M)/%.o: $(M)/%.c
	set -e; echo '  CC [M]  $@'; $(cmd) ; scripts/basic/fixdep $(@D)/.$(@F).d $@ '$(subst $(squote),'\$(squote)',$(cmd))' > $(@D)/.$(@F).cmd
$(M)/$(DJS_NAME).ko: $(parts)
	printf '%s\n' $(LISTED) > $(M)/$(DJS_NAME).mod
	gcc -c -DNAME='"$(DJS_NAME)"' -o $(M)/$(DJS_NAME).mod.o scripts/mod.S
	echo 'savedcmd_x.ko := $(LINK) -o x.ko x.o x.mod.o' > $(M)/.$(DJS_NAME).ko.cmd
	ld -r -m elf_x86_64 -o $@ $(parts) $(M)/$(DJS_NAME).mod.o
)make";

class MadeKbuild : public MadeKit {
  protected:
    MadeKbuild() {
        put("build/Makefile",
            "OBJTOOL = ; ./tools/objtool/objtool --own $@\nLISTED = $(parts)\n"
            "LINK := ld -r -m elf_x86_64 --build-id=sha1 -T scripts/module.lds\n" +
                std::string(made_makefile));
        put("build/scripts/module.lds", "SECTIONS { /DISCARD/ : { *(.data.own_drop) } }\n");
        put("build/scripts/mod.S",
            ".section .gnu.linkonce.this_module, \"aw\"\n.globl __this_module\n__this_module:\n"
            ".asciz NAME\n.section .modinfo, \"a\"\n.ascii \"name=\"\n.asciz NAME\n" +
                versions({"_printk"}) + ".section .note.GNU-stack, \"\", @progbits\n");
        put("build/include/linux/made.h", "int _printk(const char *format, ...);\n"
                                          "int vfs_read(void);\n");
        put("build/Module.symvers", "0x11\tvfs_read\tvmlinux\tEXPORT_SYMBOL\t\n"
                                    "0x12\t_printk\tvmlinux\tEXPORT_SYMBOL\t\n"
                                    "0x13\tkfree\tvmlinux\tEXPORT_SYMBOL\t\n");
        for (const char* name : {"build/.config", "build/scripts/mod/modpost"})
            put(name, "");
        put("build/include/generated/utsrelease.h", "#define UTS_RELEASE \"6.1.0-made\"\n");
        put_program("build/scripts/basic/fixdep", "printf 'savedcmd_%s := %s\\n' \"$2\" \"$3\"\n");
        put_program("build/tools/objtool/objtool", "echo \"$@\" >> " + own("objtool.log") + "\n");
        put("kallsyms", "ffffffff81000000 T _text\nffffffff81000010 T _printk\n"
                        "ffffffff82000000 T _etext\n");
        put_runtime();
        open_kernel("CONFIG_MODVERSIONS=y\nCONFIG_OBJTOOL=y\n");
    }
    void put(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories(std::filesystem::path(own(name)).parent_path());
        EXPECT_TRUE(write_file(own(name), text));
    }
    void put_program(const std::string& name, const std::string& text) const {
        put(name, "#!/bin/sh\n" + text);
        std::filesystem::permissions(own(name), std::filesystem::perms::owner_all);
    }
    // Replaces a part of a file.
    void change(const std::string& name, const std::string& what, const std::string& by) const {
        std::string text = content(own(name));
        const size_t at = text.find(what);
        ASSERT_NE(at, std::string::npos) << what;
        put(name, text.replace(at, what.size(), by));
    }
    void put_runtime() const {
        put("runtime/Kbuild", "$(DJS_NAME)-y := main.o helper/helper.o offsets.o extra.o stub.o\n"
                              "ccflags-y := -I$(M) $(DJS_FEATURES)\n"
                              "djs-parts := extra\n"
                              "djs-handler-objects := main.o\n"
                              "djs-handler-objects.extra := extra.o\n"
                              "djs-cold-objects := offsets.o\n"
                              "djs-portable-objects := helper/helper.o\n"
                              "djs-absent.extra := djs_extra\n");
        put("runtime/features.list", "READS symbol vfs_read\nNONE symbol none\n"
                                     "PRINTS header include/linux/made.h _printk\n");
        put("runtime/main.c",
            "#include <linux/made.h>\n#include \"own.h\"\n"
            "static const char license[] __attribute__((__section__(\".modinfo\"), __used__, "
            "__aligned__(1))) = \"license=GPL\";\n"
            "int init_module(void);\nvoid cleanup_module(void);\n"
            "int init_module(void) { return djs_extra(); }\nvoid cleanup_module(void) {}\n"
            "long djs_double(long x)\n{\n\t_printk(\"x\");\n\treturn READS + PRINTS + x;\n}\n"
            "const long djs_number = 1;\n");
        put("runtime/own.h", "long djs_extra(void);\nlong djs_double(long x);\n"
                             "extern const long djs_number;\n");
        put("runtime/extra.c", "#include \"own.h\"\nvoid kfree(const void *);\n"
                               "long djs_extra(void)\n{\n\tkfree(&djs_number);\n\treturn 2;\n}\n");
        put("runtime/offsets.c", "__asm__(\".pushsection .djstap.offsets\\n"
                                 ".ascii \\\"one 1\\\\ntwo:here -2\\\\n\\\"\\n.popsection\");\n");
        put("runtime/helper/helper.c",
            "int djs_help(void);\nint djs_help(void)\n{\n\treturn 1;\n}\n");
        put("runtime/stub.c", "#include <linux/made.h>\n#include \"own.h\"\n"
                              "const void *const djs_script[] = {vfs_read, djs_double};\n");
    }
    void open_kernel(const std::string& config) {
        put("config", config);
        KernelFiles files;
        files.release = kit_.release;
        files.kallsyms = own("kallsyms");
        files.config = own("config");
        files.build_dir = own("build");
        auto kernel = Kernel::open(files);
        ASSERT_TRUE(kernel) << kernel.failure().message;
        kernel_ = std::move(*kernel);
    }
    RuntimeSources sources() const { return {own("runtime")}; }
    ModuleProgress telling() {
        told_.clear();
        return [this](const std::string& step) { told_.push_back(step); };
    }
    // In a folder of its own.
    Result<RuntimeKit> build(const PartNames& wanted = {}) {
        const auto files = read_sources(sources());
        const Parts parts(*files);
        return build_kit(*kernel_, *files, parts, [&] { return wanted; }, new_folder(), telling());
    }
    Result<RuntimeKit> build_by_kbuild() {
        const auto files = read_sources(sources());
        const Parts parts(*files);
        return build_kit_by_kbuild(*kernel_, *files, parts, "of this", new_folder(), telling());
    }
    std::string new_folder() {
        const std::string path = cache_.path + "/kit-" + std::to_string(++folders_);
        std::filesystem::create_directory(path);
        return path;
    }

    std::unique_ptr<Kernel> kernel_;
    std::vector<std::string> told_;
    int folders_ = 0;
};

} // namespace djstap::module::test
