/// `carillon completion`: prints the script with which a shell completes the command line.
enum CompletionVerb {
    /// A shell for which there is a script.
    enum Shell: String, CaseIterable {
        case bash, zsh, fish
    }

    static let verb = Verb(
        name: "completion", summary: "print the completion script of a shell",
        words: [Word("SHELL", offers: .choice(Shell.self), about: "bash, zsh or fish")], options: [],
        examples: [
            ("source <(carillon completion bash)", "complete in this bash; in ~/.bashrc, in every bash"),
            (
                "carillon completion zsh > /usr/local/share/zsh/site-functions/_carillon",
                "for all users of zsh, from their next login"
            ),
            (
                "carillon completion fish > ~/.config/fish/completions/carillon.fish",
                "for fish, which loads the file when it is needed"
            ),
        ],
        notes: """
            The Tab key then completes verbs, options, the values of options, files, and
            the apps of the configuration. While Carillon runs, it also completes the ids
            of devices and of recent messages, for users who may use its control socket.
            """
    ) { arguments in
        guard let shell = Shell(rawValue: arguments.word("SHELL")) else {
            throw Failure(.usage, "SHELL must be bash, zsh or fish, not '\(arguments.word("SHELL"))'")
        }
        Terminal.output.write(shell.script)
        return .done
    }
}
