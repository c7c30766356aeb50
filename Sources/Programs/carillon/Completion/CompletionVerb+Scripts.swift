extension CompletionVerb.Shell {
    /// The script that makes the shell complete the command line of Carillon. It executes nothing that was typed, and
    /// leaves all decisions to ``CompleteWords``, whose time limit is one that a user who types hardly notices.
    var script: String {
        switch self {
        case .bash: Self.bashScript
        case .zsh: Self.zshScript
        case .fish: Self.fishScript
        }
    }

    private static let bashScript = #"""
        # Completion of carillon for bash 4.3 or newer, printed by 'carillon completion bash'.
        _carillon() {
            local rest=${COMP_LINE:0:COMP_POINT} kept='' part next word about
            local -a words=()
            local -i index
            COMPREPLY=()
            # Bash splits words at '=' and ':'. Parts without a blank between them are one word, as it was typed. 'kept' is
            # the beginning of the last one, which a candidate does not replace.
            for ((index = 0; index <= COMP_CWORD; index++)); do
                next=${rest#"${rest%%[![:space:]]*}"}
                part=${COMP_WORDS[index]}
                if ((index == COMP_CWORD)); then part=$next; fi
                if ((index > 0)) && [[ $next == "$rest" ]]; then
                    kept=${words[-1]}
                    words[-1]+=$part
                else
                    kept=''
                    words+=("$part")
                fi
                rest=${next#"$part"}
            done
            case $part in '=' | ':') kept=${words[-1]} ;; esac
            words=("${words[@]//[\"\'\\]/}")
            while IFS=$'\t' read -r word about; do
                case $word in
                '<file>') compopt -o default ;;
                '<directory>') compopt -o dirnames ;;
                *) COMPREPLY+=("${word#"$kept"}") ;;
                esac
            done < <("${words[0]/#~\//$HOME/}" complete-words 300ms "${words[@]:1}" 2>/dev/null </dev/null)
        }
        complete -F _carillon carillon

        """#

    private static let zshScript = #"""
        #compdef carillon
        # Completion of carillon for zsh, printed by 'carillon completion zsh'.
        _carillon() {
            local program=${${(Q)words[1]}/#\~\//$HOME/} line word
            local -a typed found
            typed=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
            for line in ${(f)"$("$program" complete-words 300ms "${typed[@]}" 2>/dev/null </dev/null)"}; do
                case $line in
                '<file>') compset -P 1 '--*='; _files && return ;;
                '<directory>') compset -P 1 '--*='; _files -/ && return ;;
                *)
                    # A description follows a colon.
                    word=${line%%$'\t'*}
                    found+=(${word//:/\\:}${${line#$word}/$'\t'/:})
                    ;;
                esac
            done
            _describe -t words word found
        }
        # The shell calls the function when it loads this file from fpath; otherwise the file was sourced.
        if [[ ${funcstack[1]} == _carillon ]]; then
            _carillon "$@"
        elif (($+functions[compdef])); then
            compdef _carillon carillon
        fi

        """#

    private static let fishScript = #"""
        # Completion of carillon for fish, printed by 'carillon completion fish'.
        function __carillon
            set -l current (commandline -ct)
            set -l typed (commandline -opc) "$current"
            set -l program (string replace -r '^~/' "$HOME/" -- $typed[1])
            set -l before (string match -r -- '^--[^=]*=' $typed[-1])
            set -l path (string replace -r '^--[^=]*=' '' -- "$current")
            for line in ($program complete-words 300ms $typed[2..-1] 2>/dev/null </dev/null)
                switch $line
                    case '<file>'
                        printf '%s\n' "$before"(__fish_complete_path "$path")
                    case '<directory>'
                        printf '%s\n' "$before"(__fish_complete_directories "$path" '')
                    case '*'
                        echo $line
                end
            end
        end
        complete -c carillon -f -a '(__carillon)'

        """#
}
