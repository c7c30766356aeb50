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
        ], notes: exitCodes
    ) { arguments in
        let drain = try drainTime(arguments.text("drain"))
        let flags = arguments.text("data").map { ["data": $0] } ?? [:]
        let (file, parsed) = try Configuration.load(file: arguments.text("config"), flags: flags)
        let running = try await RunningCarillon(ConfigurationSource(file: file, flags: flags), parsed)
        let served = await running.served()
        if arguments.has("json") {
            Terminal.output.write(served.json)
        } else if parsed.configuration.log.format == .text {
            // Beside a log of JSON, one object a line, nothing else may stand; the log says the same.
            Terminal.output.write(served.text(Terminal.output))
        }
        running.logStart(served)
        return await running.run(drainingWithin: drain)
    }

    /// For whoever writes a unit file or a script around it.
    static let exitCodes = """
        Exit codes:
          0   it was told to stop; the next start sends what is left
          1   a second SIGTERM; or it could not go on: the disk is full, or a file of
              the ledger is damaged; or the path of the control socket is too long
          64  the command line is wrong
          69  a place to bind is taken, or not of this machine; or the directory of an
              ipc path is missing or not writable
          75  another Carillon runs on the data directory
          77  the data directory cannot be used by this user
          78  the configuration, or a file that it names, is wrong; 'carillon check'
              lists everything
        """

    static func drainTime(_ text: String?) throws(Failure) -> Duration {
        guard let text else { return .seconds(30) }
        guard let time = DurationText.read(text), time <= .seconds(3600) else {
            throw Failure(.usage, "'--drain' wants a time up to 1h, such as 30s, not '\(text)'")
        }
        return time
    }
}
