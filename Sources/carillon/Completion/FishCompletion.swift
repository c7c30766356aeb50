/// The completion script for fish: a file `carillon.fish` in a directory of completions.
struct FishCompletion {
    let table: CompletionTable

    var script: String {
        """
        # Completion of carillon for fish, printed by 'carillon completion fish'.

        # Prints the verbs below the verb $argv[1] with their summaries.
        function __carillon_verbs
            switch "$argv[1]"
        \(table.nodes.filter { !$0.verbs.isEmpty }.map { cases($0, $0.verbs) }.joined(separator: "\n"))
            end
        end

        # Prints the options of the verb $argv[1]; a plus sign follows those that may repeat.
        function __carillon_options
            switch "$argv[1]"
        \(table.nodes.map { cases($0, $0.offeredOptions, isOption: true) }.joined(separator: "\n"))
            end
        end

        # Prints what the option $argv[2] of the verb $argv[1] takes; nothing if it takes no value.
        function __carillon_value
            switch "$argv[1] $argv[2]"
        \(table.nodes.flatMap(values).joined(separator: "\n"))
            end
        end

        # Prints the positional arguments of the verb $argv[1]; a plus sign follows one that may repeat.
        function __carillon_arguments
            switch "$argv[1]"
        \(table.nodes.filter { !$0.words.isEmpty }.map(arguments).joined(separator: "\n"))
            end
        end

        \(Self.functions)
        """
    }

    private func cases(_ node: CompletionTable.Node, _ items: [CompletionTable.Item], isOption: Bool = false)
        -> String
    {
        let lines = items.map { item in
            let name = isOption ? "--\(item.name)\(item.mayRepeat ? "+" : "")" : item.name
            return "            "
                + "\(CompletionTable.quotedForFish(name)) \(CompletionTable.quotedForFish(CompletionTable.short(item.about)))"
        }
        return """
                case \(CompletionTable.quotedForFish(node.path))
                    printf '%s\\t%s\\n' \\
            \(lines.joined(separator: " \\\n"))
            """
    }

    private func values(_ node: CompletionTable.Node) -> [String] {
        node.options.compactMap { option in
            option.offers.map {
                """
                    case '\(node.path) --\(option.name)'
                        echo \(CompletionTable.quotedForFish($0.kind))
                """
            }
        }
    }

    private func arguments(_ node: CompletionTable.Node) -> String {
        var kinds = node.words.map(\.kind)
        if node.repeatsLastWord, let last = kinds.popLast() { kinds.append(last + "+") }
        return """
                case \(CompletionTable.quotedForFish(node.path))
                    printf '%s\\n' \(kinds.map(CompletionTable.quotedForFish).joined(separator: " "))
            """
    }

    private static let functions = #"""
        # Prints candidates of the kind $argv[1] for the text $argv[2], each after the text $argv[3]. The remaining
        # arguments say where the configuration is.
        function __carillon_candidates
            set -l kind (string replace -r '\+$' '' -- "$argv[1]")
            set -l list
            switch "$kind"
                case none ''
                    return
                case '=*'
                    set list (string split ' ' -- (string sub -s 2 -- $kind))
                case file
                    set list (__fish_complete_path "$argv[2]")
                case directory
                    set list (__fish_complete_directories "$argv[2]" '')
                case '*'
                    set -l program (commandline -opc)[1]
                    set list ($program complete-words $kind "$argv[2]" $argv[4..-1] 2>/dev/null </dev/null)
            end
            for candidate in $list
                echo "$argv[3]$candidate"
            end
        end

        function __carillon
            set -l tokens (commandline -opc)
            set -l current (commandline -ct)
            set -l path ''
            set -l name ''
            set -l given
            set -l place
            set -l position 0
            for part in $tokens[2..-1]
                set -l text (string replace -r '^~/' "$HOME/" -- "$part")
                if test -n "$name"
                    if contains -- $name --config --data
                        set -a place $name $text
                    end
                    set name ''
                else if string match -q -- '--*=*' "$part"
                    set -a given (string replace -r '=.*' '' -- "$part")
                    if string match -q -r -- '^--(config|data)=' "$part"
                        set -a place $part
                    end
                else if string match -q -- '--*' "$part"
                    set -a given $part
                    if test -n "$(__carillon_value "$path" $part)"
                        set name $part
                    end
                else if test $position -eq 0; and contains -- "$part" (__carillon_verbs "$path" | string replace -r '\t.*' '')
                    if test "$part" = help -a -z "$path"
                        continue
                    end
                    set path (string trim -- "$path $part")
                else
                    set position (math $position + 1)
                end
            end

            if test -n "$name"
                __carillon_candidates "$(__carillon_value "$path" $name)" "$current" '' $place
            else if string match -q -- '--*=*' "$current"
                set name (string replace -r '=.*' '' -- "$current")
                set -l value (string replace -r '^[^=]*=' '' -- "$current")
                __carillon_candidates "$(__carillon_value "$path" $name)" "$value" "$name=" $place
            else if string match -q -- '-*' "$current"
                for option in (__carillon_options "$path")
                    set -l parts (string split \t -- $option)
                    # An option that was given is offered again if it may repeat.
                    if string match -q -- '*+' $parts[1]; or not contains -- $parts[1] $given
                        printf '%s\t%s\n' (string replace -r '\+$' '' -- $parts[1]) "$parts[2]"
                    end
                end
            else
                if test $position -eq 0
                    __carillon_verbs "$path"
                end
                set -l arguments (__carillon_arguments "$path")
                set -l last (count $arguments)
                if test $position -lt $last
                    __carillon_candidates $arguments[(math $position + 1)] "$current" '' $place
                else if test $last -gt 0; and string match -q -- '*+' $arguments[$last]
                    __carillon_candidates $arguments[$last] "$current" '' $place
                end
            end
        end

        complete -c carillon -f -a '(__carillon)'

        """#
}
