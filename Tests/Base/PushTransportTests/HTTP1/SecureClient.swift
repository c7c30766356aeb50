import PushTransport
import TestSupport

/// A raw client with a TLS engine. Each `send` is a separate record, up to 16 KiB.
final class SecureClient {
    private let client: RawClient
    private let engine: TLSEngine
    private var received: [UInt8] = []

    init(port: UInt16) throws {
        client = try RawClient(port: port)
        engine = try TLSEngine(
            context: .client(TLSClientConfiguration(trust: TestCertificates.shared.trust)),
            role: .client(serverName: "localhost"))
        try engine.start()
        try flush()
        while engine.state == .handshaking {
            try engine.feed(client.some(), into: &received)
            try flush()
        }
    }

    func send(_ bytes: [UInt8]) throws {
        try engine.write(bytes)
        try flush()
    }

    func receive(until end: String) throws -> String {
        while true {
            let text = String(decoding: received, as: UTF8.self)
            if text.contains(end) { return text }
            try engine.feed(client.some(), into: &received)
        }
    }

    /// Reads to the end of the connection and returns whether TLS was closed properly.
    func isToldTheEnd() throws -> Bool {
        let last = try client.rest()
        if !last.isEmpty { try engine.feed(last, into: &received) }
        return engine.state == .inputEnded
    }

    private func flush() throws {
        try client.send(engine.output.withBytes { Array($0) })
        engine.output.removeAll()
    }
}
