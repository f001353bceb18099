# SPDX-License-Identifier: Apache-2.0
# bash completion for tallywatt: made by `tallywatt completion bash`
_tallywatt()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local options='' words='' what='' operands='' names='@names@'
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W "$names --help --version" -- "$cur"))
		return
	fi
	case ${COMP_WORDS[1]} in
	help) words=$names ;;
@commands@	esac
	if [ "${COMP_WORDS[1]}" = completion ] && [ "${cur#-}" = "$cur" ]; then
		words='bash fish zsh'
	fi
	if [ -n "$words" ]; then
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
	elif [ "$what" = any ]; then
		return
	elif [ "$what" = dir ]; then
		COMPREPLY=($(compgen -d -- "$cur"))
		compopt -o filenames 2>/dev/null
	elif [ "$what" = file ] ||
		{ [ -n "$operands" ] && [ "${cur#-}" = "$cur" ]; }; then
		COMPREPLY=($(compgen -f -- "$cur"))
		compopt -o filenames 2>/dev/null
	else
		COMPREPLY=($(compgen -W "$options" -- "$cur"))
	fi
}
complete -F _tallywatt tallywatt
_tallywatt_daemon()
{
	local cur=${COMP_WORDS[COMP_CWORD]} options=''
	case $cur in
	-*) options=$("$1" --help 2>/dev/null | sed -n 's/^ *\(--[a-z0-9-]*\).*/\1/p') ;;
	esac
	COMPREPLY=($(compgen -W "$options" -- "$cur"))
}
complete -o default -F _tallywatt_daemon tw-collector tw-estimator tw-server tw-trainer
