import PushTransport

/// `carillon bench`: measures the performance of this build on this machine.
enum BenchVerb {
    static let verb = Verb(
        name: "bench", summary: "measure the performance of this build on this machine", verbs: [gateway])

    private static let gateway = Verb(
        name: "bench gateway", summary: "measure the CPU time and memory of a gateway per notification",
        options: [
            Option("host", "H", "the host of the push service (127.0.0.1)"),
            Option("port", "P", "its port (2197)"),
            Option("trust", "CA", "the CA certificates for that host (PEM)"),
            Option("key", "FILE", "a provider key that the service accepts, with --key-id and --team-id"),
            Option("key-id", "ID", "the id of that key"),
            Option("team-id", "ID", "the team of that key"),
            Option("count", "N", "the number of notifications, each to its own device token (100000)"),
            Option("connections", "C", "the number of connections (2)"),
            Option("json", "print one line of JSON"),
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
            place: HostPort(
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
        "{\"count\":\(count),\"ok\":\(ok),\"seconds\":\(rounded(seconds, 6)),"
            + "\"cpu_us_each\":\(rounded(microsecondsEach, 3)),\"rss_mb\":\(rounded(peakMegabytes, 1)),\"resent\":\(resent)}\n"
    }

    fileprivate var text: String {
        let rate = Int((Double(count) / seconds).rounded())
        return """
            \(ok) of \(count) accepted\(resent > 0 ? ", \(resent) of them sent again," : "") in \(rounded(seconds, 2)) s: \(rate) per second
            CPU \(rounded(microsecondsEach, 2)) us per notification, peak memory \(rounded(peakMegabytes, 1)) MB

            """
    }

    private func rounded(_ number: Double, _ digits: Int) -> Double {
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        return (number * scale).rounded() / scale
    }
}
