import PushLoop
import PushPostgreSQL
import TestSupport

/// A connection of a test with a loop of its own.
final class TestConnection: Sendable {
    struct Closed: Error {
        let reason: String
    }

    let loop: EventLoop
    let closures = EventRecorder<String>()
    let notices = EventRecorder<PostgreSQLNotice>()
    /// The server lives as long as its connection.
    private let server: PostgreSQLServer?
    private let connection: LoopBound<PostgreSQLConnection>

    /// Opens a connection to a server, or to the first host of a URL.
    init(
        _ server: PostgreSQLServer?, url: String? = nil, limits: PostgreSQLConnection.Limits = .init(),
        adjusting: @Sendable (inout PostgreSQLOptions) -> Void = { _ in }
    ) async throws {
        self.server = server
        var options = try PostgreSQLURL.parse(url ?? server?.url() ?? "")
        options.connectTimeout = .seconds(60)
        adjusting(&options)
        let loop = EventLoop(name: "connection")
        self.loop = loop
        let (closures, notices) = (closures, notices)
        let opened = EventRecorder<Bool>()
        connection = await loop.run { [options] in
            let host = options.hosts[0]
            let target = PostgreSQLTarget(host: host, address: host.name == "localhost" ? "127.0.0.1" : host.name)
            let connection = PostgreSQLConnection(on: loop, to: target, options: options, limits: limits)
            connection.onReady = { opened.record(true) }
            connection.onClosed = {
                closures.record($0)
                opened.record(false)
            }
            connection.onNotice = { notices.record($0) }
            connection.open()
            return LoopBound(connection, on: loop)
        }
        guard await opened.wait(count: 1).first == true else {
            await close()
            throw Closed(reason: closures.events.first ?? "the test was canceled")
        }
    }

    /// Calls `body` with the connection on its loop.
    func with<Result: Sendable>(_ body: @escaping @Sendable (PostgreSQLConnection) -> Result) async -> Result {
        await connection.with { body($0) }
    }

    /// Sends a section and returns its reply.
    func send(
        timeout: Duration = .seconds(120), _ write: @escaping @Sendable (PostgreSQLSection) -> Void
    ) async -> PostgreSQLReply {
        let connection = connection
        return await withCheckedContinuation { continuation in
            loop.execute {
                let section = PostgreSQLSection()
                write(section)
                connection.wrapped.send(section, timeout: timeout) { continuation.resume(returning: $0) }
            }
        }
    }

    /// Sends sections at once, so that all are in flight, and returns their replies in the same order.
    func send(all writes: [@Sendable (PostgreSQLSection) -> Void]) async -> [PostgreSQLReply] {
        let replies = EventRecorder<PostgreSQLReply>()
        await with { connection in
            for write in writes {
                let section = PostgreSQLSection()
                write(section)
                connection.send(section, timeout: .seconds(120)) { replies.record($0) }
            }
        }
        return await replies.wait(count: writes.count)
    }

    /// Runs one statement without parameters.
    func run(_ sql: String, timeout: Duration = .seconds(120)) async -> PostgreSQLReply {
        await send(timeout: timeout) { $0.call(.once(sql: sql)) }
    }

    func close() async {
        await connection.with { $0.close() }
        await loop.shutDown()
    }
}

extension PostgreSQLReply {
    struct Unexpected: Error, CustomStringConvertible {
        let description: String
    }

    /// The results of a section that was committed.
    func results() throws -> [PostgreSQLResult] {
        guard case .done(let results) = self else { throw Unexpected(description: "\(self)") }
        return results
    }

    var refusal: PostgreSQLFailure? {
        guard case .refused(let failure) = self else { return nil }
        return failure
    }

    var unknown: String? {
        guard case .unknown(let reason) = self else { return nil }
        return reason
    }

    var notSent: String? {
        guard case .notSent(let reason) = self else { return nil }
        return reason
    }
}
