import PushTransport

/// `carillon bench`: measures the performance of this build on this machine.
enum BenchVerb {
    static let verb = Verb(
        name: "bench", summary: "measure the performance of this build on this machine", verbs: [gateway])

    private static let gateway = Verb(
        name: "bench gateway", summary: "measure the CPU time and memory of a gateway per notification",
        options: [
            Option("host", value: "H", about: "the host of the push service (127.0.0.1)"),
            Option("port", value: "P", about: "its port (2197)"),
            Option("trust", value: "CA", offers: .files, about: "the CA certificates for that host (PEM)"),
            Option("key", value: "FILE", about: "a provider key that the service accepts, with --key-id and --team-id"),
            Option("key-id", value: "ID", about: "the id of that key"),
            Option("team-id", value: "ID", about: "the team of that key"),
            Option("count", value: "N", about: "the number of notifications, each to its own device token (100000)"),
            Option("connections", value: "C", about: "the number of connections (2)"),
            Option("json", about: "print one line of JSON"),
        ],
        examples: [
            (
                "carillon bench gateway --trust simulator/ca.pem --key simulator/AuthKey_SIMULATOR1.p8 "
                    + "--key-id SIMULATOR1 --team-id CARILLON01",
                "send to a simulator on its default port"
            )
        ]
    ) { arguments in
        guard let trust = arguments.text("trust") else {
            throw Failure(.usage, "'--trust' is needed: the CA certificate that issued the server's certificate (PEM)")
        }
        var bench = GatewayBench(
            endpoint: HostPort(
                host: arguments.text("host") ?? "127.0.0.1", port: try arguments.port("port") ?? 2197),
            trust: trust, count: try arguments.number("count", in: 1...1_000_000_000) ?? 100_000,
            connections: try arguments.number("connections", in: 1...64) ?? 2)
        if let key = arguments.text("key") {
            guard let keyID = arguments.text("key-id"), let teamID = arguments.text("team-id") else {
                throw Failure(.usage, "'--key' needs '--key-id' and '--team-id'")
            }
            bench.key = (key, keyID, teamID)
        }
        let result = try await bench.run()
        Terminal.output.write(arguments.has("json") ? result.json : result.text)
        for fault in result.faults { Terminal.error.write("\(fault)\n") }
        return result.ok == result.count ? .done : .failed
    }
}

extension GatewayBench.Result {
    fileprivate var json: String {
        "{\"count\":\(count),\"ok\":\(ok),\"seconds\":\(rounded(seconds, to: 6)),"
            + "\"cpu_us_each\":\(rounded(microsecondsEach, to: 3)),\"rss_mb\":\(rounded(peakMegabytes, to: 1)),\"resent\":\(resent)}\n"
    }

    fileprivate var text: String {
        let rate = Int((Double(count) / seconds).rounded())
        return """
            \(ok) of \(count) accepted\(resent > 0 ? ", \(resent) of them sent again," : "") in \(rounded(seconds, to: 2)) s: \(rate) per second
            CPU \(rounded(microsecondsEach, to: 2)) us per notification, peak memory \(rounded(peakMegabytes, to: 1)) MB

            """
    }

    private func rounded(_ number: Double, to digits: Int) -> Double {
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        return (number * scale).rounded() / scale
    }
}
