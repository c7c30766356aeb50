import Foundation
import PushLoop
import PushTransport

enum HTTP2ClientBenchmark {
    /// Sends requests like those of a push gateway to a given server, to measure the cost of the transport.
    static func run(_ arguments: [String]) async throws -> [Figure] {
        @Sendable func option(_ name: String, default fallback: String) -> String {
            guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return fallback }
            return arguments[index + 1]
        }
        let count = Int(option("--count", default: "300000")) ?? 300_000
        let port = UInt16(option("--port", default: "2197")) ?? 2197
        let connections = Int(option("--connections", default: "2")) ?? 2
        let tls = try TLSContext.client(
            TLSClientConfiguration(
                trust: .only([.file(option("--trust", default: "ca.pem"))]), alpn: ["h2"]))
        let loop = EventLoop(name: "client")
        let pool = BlockingPool(name: "resolve", threadCount: 1, queueLimit: 16)
        let start = MonotonicTime.current()
        let ok = await withCheckedContinuation { continuation in
            loop.execute {
                let run = ClientRun(total: count) { continuation.resume(returning: $0) }
                run.start(
                    on: loop, to: HostPort(host: option("--host", default: "127.0.0.1"), port: port), tls: tls,
                    resolver: NameResolver(pool: pool), connections: connections)
            }
        }
        let seconds = (MonotonicTime.current() - start).inSeconds
        let cpu = processCPU().inSeconds
        await loop.shutDown()
        await pool.shutDown()
        return [
            Figure(name: "requests answered with 200", value: Double(ok), unit: "of \(count)"),
            Figure(name: "CPU a request", value: cpu / Double(count) * 1e6, unit: "us"),
            Figure(name: "rate", value: Double(count) / seconds, unit: "/s"),
            Figure(name: "peak memory", value: peakMemory(), unit: "MiB"),
        ]
    }
}

private final class ClientRun {
    private let total: Int
    private let done: (Int) -> Void
    private let request: HTTP2PreparedRequest
    private let body: [UInt8]
    private var links: [Link] = []
    private var next = 0
    private var ended = 0
    private var ok = 0

    init(total: Int, done: @escaping (Int) -> Void) {
        self.total = total
        self.done = done
        request = HTTP2PreparedRequest(
            [
                .init(":method", value: .fixed("POST")), .init(":scheme", value: .fixed("https")),
                .init(":authority", value: .fixed("127.0.0.1")), .init(":path", value: .perRequest, indexed: .once),
                .init("authorization", value: .fixed("bearer " + String(repeating: "A", count: 240))),
                .init("apns-topic", value: .fixed("com.example.shop")), .init("apns-push-type", value: .fixed("alert")),
                .init("apns-priority", value: .fixed("10")),
                .init("apns-expiration", value: .fixed("1900000000"), indexed: .once),
                .init("apns-id", value: .perRequest, indexed: .once),
            ])
        body = Array("{\"aps\":{\"alert\":\"\(String(repeating: "x", count: 170))\"}}".utf8)
    }

    func start(
        on loop: EventLoop, to endpoint: HostPort, tls: TLSContext, resolver: NameResolver, connections: Int
    ) {
        for _ in 0..<connections {
            let link = Link(self)
            links.append(link)
            link.connection = HTTP2ClientConnection(
                on: loop, to: endpoint, tls: tls, resolver: resolver, delegate: link)
        }
    }

    fileprivate func fill(_ connection: HTTP2ClientConnection) {
        while next < total, connection.available > 0 {
            // The path and the id take 110 bytes.
            var path: (UInt64, UInt64) = (UInt64(next) &* 0x9e37_79b9_7f4a_7c15, UInt64(next))
            let sent = withUnsafeBytes(of: &path) { bytes in
                withUnsafeTemporaryAllocation(byteCount: 110, alignment: 1) { text in
                    Self.write(bytes, into: text)
                    return withUnsafeTemporaryAllocation(of: UnsafeRawBufferPointer.self, capacity: 2) { values in
                        values.initializeElement(at: 0, to: UnsafeRawBufferPointer(rebasing: text[0..<74]))
                        values.initializeElement(at: 1, to: UnsafeRawBufferPointer(rebasing: text[74..<110]))
                        return connection.submit(
                            request, values: UnsafeBufferPointer(values), body: body, tag: UInt64(next))
                            == .taken
                    }
                }
            }
            guard sent else { return }
            next += 1
        }
    }

    private static func write(_ number: UnsafeRawBufferPointer, into text: UnsafeMutableRawBufferPointer) {
        let digits: StaticString = "0123456789abcdef"
        let prefix: StaticString = "/3/device/"
        for index in 0..<10 { text[index] = prefix.utf8Start[index] }
        for index in 0..<100 {
            let byte = number[(index / 2) % 16]
            text[10 + index] = digits.utf8Start[Int(index % 2 == 0 ? byte >> 4 : byte & 15)]
        }
        for index in [8, 13, 18, 23] { text[74 + index] = UInt8(ascii: "-") }
    }

    fileprivate func finished(_ isOK: Bool) {
        ended += 1
        if isOK { ok += 1 }
        guard ended == total else { return }
        for link in links { link.connection?.closeGracefully() }
        done(ok)
    }

    fileprivate func closed(_ closure: HTTP2Closure) {
        if ended < total {
            FileHandle.standardError.write(Data("connection closed early: \(closure)\n".utf8))
            ended = total
            done(ok)
        }
    }
}

private final class Link: HTTP2ClientConnectionDelegate {
    var connection: HTTP2ClientConnection?
    /// The reference is strong: the run must live until its connections are closed.
    private let run: ClientRun

    init(_ run: ClientRun) {
        self.run = run
    }

    func http2Settings(streamLimit limit: Int) {
        if let connection { run.fill(connection) }
    }

    func http2Answered(tag: UInt64, with response: HTTP2Response) {
        run.finished(response.status == 200)
    }

    func http2Unanswered(tag: UInt64, because failure: HTTP2StreamFailure) {
        run.finished(false)
    }

    func http2GoAway(_ goAway: HTTP2GoAway) {}

    func http2Closed(_ closure: HTTP2Closure) {
        run.closed(closure)
        connection = nil
    }

    func http2BatchEnded() {
        if let connection { run.fill(connection) }
    }
}
