import PushLoop

/// `carillon serve`: everything between producers and the push services.
enum ServeVerb {
    static let verb = Verb(
        name: "serve", summary: "take notifications in, carry them out, and tell what became of them",
        options: [
            Option("config", "FILE", "the configuration (else CARILLON_CONFIG, or the usual places)"),
            Option("data", "DIR", "the data directory, instead of the configuration's"),
            Option("drain", "TIME", "how long SIGTERM may wait for what is on its way (30s)"),
            Option("json", "say what is served as one line of JSON"),
        ],
        examples: [
            ("carillon serve --config carillon.json5", "until SIGTERM; a second SIGTERM stops at once"),
            ("carillon serve --json --drain 5s", "for a script that starts it"),
            ("kill -HUP $(cat data/carillon.lock)", "read the configuration and all keys and certificates again"),
            ("curl http://127.0.0.1:8470/readyz", "ask a running one whether a push would go out now"),
        ]
    ) { arguments in
        let drain = try drainTime(arguments.text("drain"))
        let flags = arguments.text("data").map { ["data": $0] } ?? [:]
        let (file, parsed) = try Configuration.load(file: arguments.text("config"), flags: flags)
        let running = try await RunningCarillon(ConfigurationSource(file: file, flags: flags), parsed)
        let served = await running.served()
        Terminal.output.write(arguments.has("json") ? served.json : served.text(Terminal.output))
        return await running.run(drainingWithin: drain)
    }

    static func drainTime(_ text: String?) throws(Failure) -> Duration {
        guard let text else { return .seconds(30) }
        guard let time = DurationText.read(text), time <= .seconds(3600) else {
            throw Failure(.usage, "'--drain' wants a time up to 1h, such as 30s, not '\(text)'")
        }
        return time
    }
}
