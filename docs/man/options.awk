# SPDX-License-Identifier: Apache-2.0
# Fills a manual page with the options that its program prints:
#
#	awk -v program=build/release/tw-server -f docs/man/options.awk docs/man/tw-server.1
#
# A line `.\" options [COMMAND]` becomes an entry for each option of `PROGRAM [COMMAND] --help`, a line
# `.\" command COMMAND` a heading and the summary of that help.
# With -v fleet=0 the lines from `.\" fleet` to `.\" end` are left out.

function roff(text)
{
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	gsub(/'/, "\\(aq", text)
	sub(/^\./, "\\\\\\&.", text)
	return text
}

function print_option(line,	flag, argument, at)
{
	sub(/^ +/, "", line)
	at = index(line, "  ")
	flag = substr(line, 1, at - 1)
	line = substr(line, at)
	sub(/^ +/, "", line)
	match(flag, /--[a-z-]+/)
	argument = substr(flag, RSTART + RLENGTH + 1)
	flag = substr(flag, 1, RSTART + RLENGTH - 1)
	print ".TP"
	print ".B " roff(flag) (argument == "" ? "" : " \\fI" roff(argument) "\\fR")
	print toupper(substr(line, 1, 1)) roff(substr(line, 2)) "."
}

/^\.\\" fleet/, /^\.\\" end/ {
	if (fleet == "0" || /^\.\\" (fleet|end)/)
		next
}

/^\.\\" command/ {
	help = program " " $3 " --help"
	print ".SS " $3
	for (n = 1; (help | getline line) > 0; n++)
		if (n == 2)
			print roff(line)
	close(help)
	next
}

/^\.\\" options/ {
	help = program " " $3 " --help"
	found = 0
	while ((help | getline line) > 0)
		if (line ~ /^  -/) {
			print_option(line)
			found++
		}
	close(help)
	if (!found) {
		print FILENAME ":" FNR ": no options in " help >"/dev/stderr"
		exit 1
	}
	next
}

{ print }
