/// The completion script for zsh: a file `_carillon` in a directory of `fpath`, or a script to source.
struct ZshCompletion {
    let table: CompletionTable

    var script: String {
        """
        #compdef carillon
        # Completion of carillon for zsh, printed by 'carillon completion zsh'.

        # Sets the verbs, flags and positional arguments of the verb $1.
        _carillon_verb() {
            verbs=() flags=() arguments=() repeats=''
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
        func list(_ items: [CompletionTable.Item], prefix: String = "") -> String {
            items.map { item in
                "\n            "
                    + CompletionTable.quoted("\(prefix)\(item.name):\(CompletionTable.short(item.about))")
            }.joined()
        }
        let words = node.words.map { CompletionTable.quoted($0.kind) }.joined(separator: " ")
        let repeated = node.offeredOptions.filter(\.mayRepeat).map { "--\($0.name)" }.joined(separator: " ")
        return """
                \(CompletionTable.quoted(node.path)))
                    verbs=(\(list(node.verbs)))
                    flags=(\(list(node.offeredOptions, prefix: "--")))
                    repeated=(\(repeated))
                    arguments=(\(words)) repeats='\(node.repeatsLastWord ? "yes" : "")'
                    ;;
            """
    }

    private static let functions = #"""
        # Offers candidates of the kind $1.
        _carillon_candidates() {
            local -a list
            case $1 in
            '' | none) _message 'value' ;;
            '='*) list=(${(s: :)${1#=}}); compadd -a list ;;
            file) _files ;;
            directory) _files -/ ;;
            *)
                list=(${(f)"$("$program" complete-words "$1" "${(Q)PREFIX}" $place 2>/dev/null </dev/null)"})
                compadd -a list
                ;;
            esac
        }

        _carillon() {
            local program=${${(Q)words[1]}/#\~\//$HOME/} verb='' takes='' name='' part repeats
            local -a verbs flags repeated arguments place given
            local -i position=0 index

            _carillon_verb ''
            for ((index = 2; index < CURRENT; index++)); do
                part=${${(Q)words[index]}/#\~\//$HOME/}
                if [[ -n $name ]]; then
                    case $name in --config | --data) place+=($name $part) ;; esac
                    name=''
                elif [[ $part == --*=* ]]; then
                    given+=(${part%%=*})
                    case $part in --config=* | --data=*) place+=($part) ;; esac
                elif [[ $part == --* ]]; then
                    given+=($part)
                    _carillon_value "$verb" "$part"
                    if [[ -n $takes ]]; then name=$part; fi
                elif ((position == 0)) && [[ -n $part && -n ${(M)verbs:#$part:*} ]]; then
                    if [[ $part == help && -z $verb ]]; then continue; fi
                    verb=${verb:+$verb }$part
                    _carillon_verb "$verb"
                else
                    position+=1
                fi
            done

            if [[ -n $name ]]; then
                _carillon_value "$verb" "$name"
                _carillon_candidates "$takes"
                return
            fi
            if [[ $PREFIX == --*=* ]]; then
                _carillon_value "$verb" "${PREFIX%%=*}"
                compset -P 1 '*='
                _carillon_candidates "$takes"
                return
            fi
            if [[ $PREFIX == -* ]]; then
                # An option that was given is offered again if it may repeat.
                for part in $given; do
                    if ((! ${repeated[(Ie)$part]})); then flags=(${flags:#$part:*}); fi
                done
                _describe -o -t options option flags
                return
            fi
            local -i found=1
            if ((position == 0 && $#verbs)); then _describe -t verbs verb verbs && found=0; fi
            if ((position < $#arguments)); then
                _carillon_candidates "${arguments[position + 1]}" && found=0
            elif [[ -n $repeats ]]; then
                _carillon_candidates "${arguments[-1]}" && found=0
            fi
            return found
        }

        # The shell calls the function when it loads this file from fpath; otherwise the file was sourced.
        if [[ ${funcstack[1]} == _carillon ]]; then
            _carillon "$@"
        elif (($+functions[compdef])); then
            compdef _carillon carillon
        fi

        """#
}
