/// The page of the command, which lists its verbs.
struct CommandPage {
    let verbs: [Verb]
    let date: String

    var page: ManualPage {
        var roff = ManualPage.start("carillon", section: 1, date: date)
        roff.heading("NAME")
        roff.add("carillon \\- a push notification gateway")
        roff.heading("SYNOPSIS")
        roff.add("\(Roff.bold("carillon")) \(Roff.italic("VERB")) [\(Roff.italic("OPTION"))\\ ...]")
        roff.add(".br")
        roff.add("\(Roff.bold("carillon help")) [\(Roff.italic("VERB"))]")
        roff.add(".br")
        roff.add(Roff.bold("carillon --version"))
        roff.heading("DESCRIPTION")
        roff.paragraphs(Self.description)
        roff.heading("VERBS")
        for verb in verbs {
            roff.item(ManualPage.reference(ManualPage.name(of: verb)), about: ManualPage.sentence(verb.summary))
        }
        roff.heading("OPTIONS")
        roff.item(Roff.bold("--help"), about: "Print the verbs, or after a verb a summary of its page.")
        roff.item(Roff.bold("--version"), about: "Print the version.")
        roff.paragraphs(Self.conventions)
        roff.heading("EXAMPLES")
        for (about, command) in Self.examples {
            roff.paragraphs(about)
            roff.literal(command)
        }
        roff.heading("EXIT STATUS")
        for (code, about) in ManualFacts.exits {
            roff.item(Roff.bold("\(code.rawValue)"), about: ManualPage.sentence(about))
        }
        roff.heading("FILES")
        for fact in ManualFacts.configurationFiles + [ManualFacts.controlSocket] {
            roff.item(Roff.italic(fact.name), about: fact.about)
        }
        roff.heading("ENVIRONMENT")
        for fact in [
            ManualFacts.configurationVariable, ManualFacts.dataVariable, ManualFacts.settingVariables,
            ManualFacts.passwordVariable, ManualFacts.colorVariable,
        ] { roff.item(Roff.italic(fact.name), about: fact.about) }
        ManualPage.seeAlso(
            verbs.map { ManualPage.reference(ManualPage.name(of: $0)) } + [
                ManualPage.reference("carillon.json5", section: 5)
            ],
            to: &roff)
        return ManualPage(name: "carillon", section: 1, text: roff.text)
    }

    private static let description = """
        Carillon accepts notifications from the programs of a backend, over ZeroMQ or HTTP, stores them on disk, \
        acknowledges them, and sends each of them once to every device that it is for. It publishes what became of \
        each as an event.

        The verb 'serve' runs the gateway. The verbs 'stats', 'devices', 'messages', 'events', 'trace', 'scale', \
        'pause' and 'resume' ask a running one over a socket in its data directory, and find it by the \
        configuration. The verbs 'check', 'send', 'keys', 'receipts' and 'simulate' do not need one.
        """

    private static let conventions = """
        Where the description of an option ends with a value in parentheses, that is the value if the option is not \
        given. Times are written as 250ms, 5s, 10m, 2h or 7d. An option and its value may also be written as \
        --option=value. With --json, a command prints one JSON object, or one on each line, whose names are those of \
        the HTTP API.
        """

    private static let examples = [
        ("Check a configuration and its credentials, then run:", "carillon check --connect\ncarillon serve"),
        (
            "Send a notification to one device, to try a credential:",
            "carillon send --app shop --token-file token.txt --title Hello"
        ),
        ("Find out what became of a message:", "carillon trace order-4711-shipped"),
    ]
}
