extension Configuration {
    /// The maximum number of connections of one app. A higher number is a mistake, or an attack on the push service.
    package static let mostConnections = 1000

    static func readGateway(_ section: ConfigurationSection) -> Gateway {
        var gateway = Gateway()
        gateway.wireProtocol = section.choice("protocol", of: Gateway.WireProtocol.self) ?? gateway.wireProtocol
        gateway.connections = readConnections(section.section("connections"))
        gateway.connectsPerMinute = section.integer("connects_per_minute", in: 1...600) ?? gateway.connectsPerMinute
        let times: [(String, WritableKeyPath<Gateway, Duration>, ClosedRange<Duration>)] = [
            ("connect_timeout", \.connectTimeout, .seconds(1)...(.seconds(300))),
            ("answer_timeout", \.answerTimeout, .seconds(1)...(.seconds(600))),
            ("ping_after", \.pingAfter, .seconds(5)...(.seconds(3600))),
            ("ping_timeout", \.pingTimeout, .seconds(1)...(.seconds(300))),
            ("idle", \.idle, .seconds(10)...days(7)),
        ]
        for (key, field, range) in times {
            gateway[keyPath: field] = section.duration(key, in: range) ?? gateway[keyPath: field]
        }
        return gateway
    }

    private static func readConnections(_ section: ConfigurationSection) -> ClosedRange<Int> {
        let (least, most) = (
            section.integer("min", in: 1...mostConnections), section.integer("max", in: 1...mostConnections)
        )
        switch (least, most) {
        case (let least?, let most?):
            guard least <= most else {
                section.fault("min", "min is \(least) and max is \(most); min must not be greater than max")
                return least...least
            }
            return least...most
        // If only one of them is given and the other's default would contradict it, the other becomes equal to it.
        case (let least?, nil): return least...max(least, Gateway().connections.upperBound)
        case (nil, let most?): return min(most, Gateway().connections.lowerBound)...most
        case (nil, nil): return Gateway().connections
        }
    }

    static func refuseBinary(_ section: ConfigurationSection, _ credential: Credential?, _ endpoint: Endpoint?) {
        let gateway = section.section("gateway")
        if case .token = credential {
            gateway.fault(
                "protocol",
                "the binary protocol does not support provider tokens; it needs a credential with a certificate")
        }
        if let endpoint, endpoint.isApple {
            gateway.fault(
                "protocol",
                "Apple ended the binary protocol on 31 March 2021; it needs an endpoint: a simulator or a private gateway"
            )
        }
    }

    static func readFeedback(
        _ section: ConfigurationSection, _ wireProtocol: Gateway.WireProtocol, _ endpoint: Endpoint?
    ) -> Feedback? {
        let (host, port) = (section.text("host"), section.port("port"))
        let interval = section.duration("interval", in: .seconds(60)...days(30))
        guard wireProtocol == .binary else {
            if section.isGiven {
                section.fault(
                    nil,
                    "only the binary protocol has a feedback service; over HTTP/2 the responses report dead tokens")
            }
            return nil
        }
        var feedback = Feedback(host: host ?? endpoint?.host ?? "")
        feedback.port = port ?? feedback.port
        feedback.interval = interval ?? feedback.interval
        return feedback
    }
}
