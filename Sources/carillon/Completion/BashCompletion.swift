/// The completion script for bash.
///
/// The script reads a table and executes nothing that was typed. It undoes the splitting of words at `=` and `:`, which
/// bash does before it calls a completion function.
struct BashCompletion {
    let table: CompletionTable

    var script: String {
        """
        # Completion of carillon for bash, printed by 'carillon completion bash'.
        # It needs bash 4.0 or newer, and nothing else.

        # Sets the verbs, options and positional arguments of the verb $1.
        _carillon_verb() {
            verbs='' options='' arguments=() repeats=''
            case $1 in
        \(table.nodes.map(entry).joined(separator: "\n"))
            esac
        }

        # Sets what the option $2 of the verb $1 takes; nothing if it takes no value.
        _carillon_value() {
            takes=''
            case "$1 $2" in
        \(table.valueCases)
            esac
        }

        \(Self.functions)
        """
    }

    private func entry(_ node: CompletionTable.Node) -> String {
        let verbs = node.verbs.map(\.name).joined(separator: " ")
        let options = node.offeredOptions.map { "--\($0.name)\($0.mayRepeat ? "+" : "")" }.joined(separator: " ")
        let words = node.words.map { CompletionTable.quoted($0.kind) }.joined(separator: " ")
        return """
                \(CompletionTable.quoted(node.path)))
                    verbs=\(CompletionTable.quoted(verbs))
                    options=\(CompletionTable.quoted(options))
                    arguments=(\(words)) repeats='\(node.repeatsLastWord ? "yes" : "")'
                    ;;
            """
    }

    private static let functions = #"""
        # Offers the words of the standard input that begin with what was typed.
        _carillon_offer() {
            local word
            while IFS= read -r word; do
                if [[ -n $word && $word == "$current"* ]]; then
                    word=$before$word
                    COMPREPLY+=("${word#"$split"}")
                fi
            done
        }

        # Offers candidates of the kind $1.
        _carillon_candidates() {
            case $1 in
            '' | none) ;;
            =*) _carillon_offer <<<"${1//[= ]/$'\n'}" ;;
            file) compopt -o default ;;
            directory) compopt -o dirnames ;;
            *) _carillon_offer < <("$program" complete-words "$1" "$current" "${place[@]}" 2>/dev/null </dev/null) ;;
            esac
        }

        _carillon() {
            local program=${COMP_WORDS[0]/#~\//$HOME/} current='' before='' split='' rest next part index
            local -a words=() place=() arguments=()
            local path='' takes='' name='' given=' ' verbs options repeats
            local -i position=0 count=0
            COMPREPLY=()

            # Parts without a blank between them are one word, as it was typed. 'split' is the beginning of the last
            # word, which bash keeps and does not replace by a candidate.
            rest=${COMP_LINE:0:COMP_POINT}
            for ((index = 0; index <= COMP_CWORD; index++)); do
                next=${rest#"${rest%%[![:space:]]*}"}
                part=${COMP_WORDS[index]}
                if ((index == COMP_CWORD)); then part=$next; fi
                if ((index > 0)) && [[ $next == "$rest" ]]; then
                    split=${words[count - 1]}
                    words[count - 1]+=$part
                else
                    split=''
                    words+=("$part")
                    count+=1
                fi
                rest=${next#"$part"}
            done
            current=${words[count - 1]}
            case $part in '=' | ':') split=$current ;; esac

            _carillon_verb ''
            for ((index = 1; index < count - 1; index++)); do
                part=${words[index]}
                if [[ -n $name ]]; then
                    case $name in --config | --data)
                        part=${part/#~\//$HOME/}
                        place+=("$name" "${part//[\"\'\\]/}")
                        ;;
                    esac
                    name=''
                    continue
                fi
                if [[ $part == --*=* ]]; then
                    given+="${part%%=*} "
                    case $part in --config=* | --data=*) place+=("$part") ;; esac
                elif [[ $part == --* ]]; then
                    given+="$part "
                    _carillon_value "$path" "$part"
                    if [[ -n $takes ]]; then name=$part; fi
                elif ((position == 0)) && [[ " $verbs " == *" $part "* ]]; then
                    if [[ $part == help && -z $path ]]; then continue; fi
                    path=${path:+$path }$part
                    _carillon_verb "$path"
                else
                    position+=1
                fi
            done

            if [[ -n $name ]]; then
                _carillon_value "$path" "$name"
                _carillon_candidates "$takes"
                return
            fi
            if [[ $current == --*=* ]]; then
                _carillon_value "$path" "${current%%=*}"
                before=${current%%=*}=
                current=${current#"$before"}
                _carillon_candidates "$takes"
                return
            fi
            if [[ $current == -* ]]; then
                for part in $options; do
                    if [[ $part == *+ || $given != *" $part "* ]]; then
                        part=${part%+}
                        if [[ $part == "$current"* ]]; then COMPREPLY+=("$part"); fi
                    fi
                done
                return
            fi
            if ((position == 0)); then
                for part in $verbs; do
                    if [[ $part == "$current"* ]]; then COMPREPLY+=("$part"); fi
                done
            fi
            # The arguments of a verb are offered after 'help' as well, which does no harm.
            if ((position < ${#arguments[@]})); then
                _carillon_candidates "${arguments[position]}"
            elif [[ -n $repeats ]]; then
                _carillon_candidates "${arguments[${#arguments[@]} - 1]}"
            fi
        }

        complete -F _carillon carillon

        """#
}
