/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The scripts for completion, from the table of options and that of commands.
 *
 * Invariant: of the texts in the tables, only the help may need quoting.
 */
#include "controller/cli/print/completion.h"

#include <string.h>

#include "common/mem.h"

/* The commands that print the ids of volumes, and the nodes that answer, one a line. */
#define VOLUMES "zcsi list -H 2>/dev/null | cut -f1"
#define NODES   "zcsi nodes -H 2>/dev/null | cut -f1 | grep -vx -"

struct words {
	const struct program *program; /* has the table of options */
	const struct completion_command *commands;
	size_t n_commands;
};

static bool takes_volume(const struct completion_command *command)
{
	return command->takes == COMPLETION_VOLUME;
}

static bool takes_node(const struct completion_command *command)
{
	return command->takes == COMPLETION_NODE;
}

static bool takes_file(const struct option_row *row)
{
	return row->metavar && (!strcmp(row->metavar, "FILE") || !strcmp(row->metavar, "PATH"));
}

/* Print a text in single quotes, in which it is literal for all three shells. */
static void put_quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++)
		fputs(*text == '\'' ? "'\\''" : (char[]){*text, '\0'}, out);
	fputc('\'', out);
}

/* Print the options as they are typed, "--node" or "-H", with the separator between them. */
static void put_options(FILE *out, const struct words *words,
			bool (*chosen)(const struct option_row *row), const char *separator)
{
	const struct program *program = words->program;
	const char *before = "";

	for (size_t i = 0; i < program->n_options; i++) {
		const struct option_row *row = &program->options[i];
		if (chosen && !chosen(row))
			continue;
		fprintf(out, "%s--%s", before, row->name);
		if (row->letter)
			fprintf(out, "%s-%c", separator, row->letter);
		before = separator;
	}
}

static void put_commands(FILE *out, const struct words *words,
			 bool (*chosen)(const struct completion_command *command),
			 const char *separator)
{
	const char *before = "";

	for (size_t i = 0; i < words->n_commands; i++) {
		if (chosen && !chosen(&words->commands[i]))
			continue;
		fprintf(out, "%s%s", before, words->commands[i].name);
		before = separator;
	}
}

static void put_bash(FILE *out, const struct words *words)
{
	fputs("_zcsi() {\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal choice choices\n"
	      "\tcase $before in\n"
	      "\t",
	      out);
	put_options(out, words, takes_file, "|");
	fputs(")\n\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n\t\treturn ;;\n"
	      "\t--output|-o) choices=$'table\\njson' ;;\n"
	      "\tcompletion) choices=$'bash\\nzsh\\nfish' ;;\n"
	      "\t",
	      out);
	put_commands(out, words, takes_volume, "|");
	fputs(") choices=$(" VOLUMES ") ;;\n\t", out);
	put_commands(out, words, takes_node, "|");
	fputs(") choices=$(" NODES ") ;;\n\t*) choices='", out);
	put_commands(out, words, NULL, "\n");
	fputs("' ;;\n\tesac\n\t[[ $word != -* ]] || choices='", out);
	put_options(out, words, NULL, "\n");
	/* compgen -W is not used, since it would run a command that a volume's name contains. */
	fputs("\n--help\n--version'\n"
	      "\tCOMPREPLY=()\n"
	      "\twhile IFS= read -r choice; do\n"
	      "\t\t[[ $choice != \"$word\"* ]] || COMPREPLY+=(\"$(printf %q \"$choice\")\")\n"
	      "\tdone <<<\"$choices\"\n"
	      "}\ncomplete -F _zcsi zcsi\n",
	      out);
}

static void put_zsh(FILE *out, const struct words *words)
{
	fputs("#compdef zcsi\n_zcsi() {\n\tlocal -a commands options\n\tcommands=(\n", out);
	for (size_t i = 0; i < words->n_commands; i++) {
		fprintf(out, "\t\t%s:", words->commands[i].name);
		put_quoted(out, words->commands[i].help);
		fputc('\n', out);
	}
	fputs("\t)\n\toptions=(\n\t\t", out);
	put_options(out, words, NULL, " ");
	fputs(" --help --version\n\t)\n\tcase $words[CURRENT-1] in\n\t", out);
	put_options(out, words, takes_file, "|");
	fputs(") _files; return ;;\n"
	      "\t--output|-o) compadd table json; return ;;\n"
	      "\tcompletion) compadd bash zsh fish; return ;;\n\t",
	      out);
	put_commands(out, words, takes_volume, "|");
	fputs(") compadd -- ${(f)\"$(" VOLUMES ")\"}; return ;;\n\t", out);
	put_commands(out, words, takes_node, "|");
	fputs(") compadd -- ${(f)\"$(" NODES ")\"}; return ;;\n\tesac\n"
	      "\tif [[ $words[CURRENT] == -* ]]; then compadd -- $options\n"
	      "\telse _describe command commands\n\tfi\n}\ncompdef _zcsi zcsi\n",
	      out);
	/* zsh runs the script as the function _zcsi if it is in $fpath, but not after `source`. */
	fputs("[[ $funcstack[1] != _zcsi ]] || _zcsi \"$@\"\n", out);
}

static void put_fish(FILE *out, const struct words *words)
{
	fputs("complete -c zcsi -f\n", out);
	for (size_t i = 0; i < words->n_commands; i++) {
		const struct completion_command *command = &words->commands[i];
		fprintf(out, "complete -c zcsi -n __fish_use_subcommand -a %s -d ", command->name);
		put_quoted(out, command->help);
		fputc('\n', out);
		if (takes_volume(command))
			fprintf(out,
				"complete -c zcsi -n '__fish_seen_subcommand_from %s' -a "
				"'(" VOLUMES ")'\n",
				command->name);
		if (takes_node(command))
			fprintf(out,
				"complete -c zcsi -n '__fish_seen_subcommand_from %s' -a "
				"'(" NODES ")'\n",
				command->name);
	}
	for (size_t i = 0; i < words->program->n_options; i++) {
		const struct option_row *row = &words->program->options[i];
		fprintf(out, "complete -c zcsi -l %s", row->name);
		if (row->letter)
			fprintf(out, " -s %c", row->letter);
		fputs(takes_file(row) ? " -rF -d " : row->metavar ? " -x -d " : " -d ", out);
		put_quoted(out, row->help);
		fputc('\n', out);
	}
	fputs("complete -c zcsi -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n"
	      "complete -c zcsi -s o -l output -xa 'table json'\n",
	      out);
}

int completion_print(FILE *out, const struct program *program,
		     const struct completion_command *commands, size_t n_commands,
		     const char *shell, struct error *err)
{
	static const struct {
		const char *name;
		void (*put)(FILE *out, const struct words *words);
	} shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
	const struct words words = {program, commands, n_commands};

	for (size_t i = 0; i < COUNT(shells); i++) {
		if (strcmp(shells[i].name, shell) != 0)
			continue;
		shells[i].put(out, &words);
		return 0;
	}
	return fail(err, ERR_INVALID_ARGUMENT, "'%s' is not bash, zsh or fish", shell);
}
