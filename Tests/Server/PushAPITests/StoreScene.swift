import APNs
import FoundationEssentials
import PushLoop
import PushModel
import PushTransport
import TestSupport
import Testing

@testable import PushAPI
@testable import PushStore

/// A control server over a real ledger and a real registry. The roles and apps of a caller are in header fields of its
/// requests.
final class StoreScene: Sendable {
    static let shop = AppID("shop")!
    static let news = AppID("news")!
    static let apps = AppCatalog(
        [(shop, "production"), (news, "sandbox")].map { id, environment in
            AppCatalog.App(id: id, codec: APNsCodec.unconfigured, environment: environment)
        }, families: [Family(AppID("all")!, members: [shop, news])], others: APNsCodec.unconfigured)

    let directory: TemporaryDirectory
    let ledger: SQLiteLedger
    let registry: SQLiteRegistry
    let seen: SeenReports
    /// What operators have changed.
    let changes = Locked<[OperatorChange]>([])
    let loop: EventLoop
    private let server: APIServer
    /// The threads that clients block.
    let clients = BlockingPool(name: "clients", threadCount: 4, queueLimit: 64)

    struct RoleAccess: RequestAccess {
        func admit(_ request: HTTP1Request, to operation: Operation) throws(Problem) -> Caller {
            let roles = (request.headers["X-Roles"] ?? "").split(separator: ",").compactMap { Role(rawValue: "\($0)") }
            let apps = request.headers["X-Apps"]?.split(separator: ",").compactMap { AppID("\($0)") }
            let caller = Caller.tester("tester", roles: roles, apps: apps)
            if case .roles(let wanted) = operation.access, !wanted.contains(where: { caller.allows($0) }) {
                throw Problem(.forbidden, detail: "wrong role")
            }
            return caller
        }
    }

    private init(_ directory: TemporaryDirectory) async throws {
        self.directory = directory
        let ledger = try await SQLiteLedger.open(SQLiteLedger.Settings(directory: directory.path)).0
        self.ledger = ledger
        registry = try await SQLiteRegistry.open(
            directory: directory.path, identities: ledger.identities, note: { await ledger.note($0) })
        seen = SeenReports(ledger)
        loop = EventLoop(name: "store-test")
        let endpoints =
            PipelineEndpoints.all(
                on: loop, streams: EventStreams(), devices: registry, events: ledger, waiting: CommittedEvents(),
                statistics: NoStatistics(),
                identities: ledger.identities, apps: Self.apps, seen: seen,
                registry: registry)
            + [
                AnyEndpoint(
                    EraseUser(apps: Self.apps) { erasure in
                        ErasedUser(devices: 0, messages: try await ledger.erase(erasure))
                    })
            ]
        var limits = HTTP1Limits.controlSocket
        limits.connections = 128
        limits.headerTime = .seconds(600)
        limits.bodyTime = .seconds(600)
        limits.idleTime = .seconds(600)
        limits.stallTime = .seconds(600)
        server = try await APIServer(
            at: .socket(path: "\(directory.path)/control"), on: loop, limits: limits, table: EndpointTable(endpoints),
            access: RoleAccess(),
            journal: OperatorJournal { [changes] new, _, done in
                changes.withLock { $0 += new }
                done()
            })
    }

    /// The only point of the past of the statistics.
    static let point = StatsAnswer.Point(
        at: 1500, accepted: 1.5, refused: 0, busy: 0, sent: 2, rejected: 0, unknown: 0, p50: 10, p99: nil, waiting: 3,
        oldestWaitingMilliseconds: 4)

    private struct NoStatistics: PipelineStatistics {
        func snapshot(of node: NodeID?, hasHistory: Bool) async throws -> StatsAnswer {
            var answer = StatsAnswer(at: 2000, startedAt: 1000, ready: true)
            if hasHistory { answer.history = [StoreScene.point] }
            return answer
        }
    }

    static func run(
        in directory: TemporaryDirectory? = nil, _ body: (StoreScene) async throws -> Void
    ) async throws {
        let scene = try await StoreScene(directory ?? TemporaryDirectory())
        do {
            try await body(scene)
        } catch {
            await scene.close()
            throw error
        }
        await scene.close()
    }

    private func close() async {
        await server.stop(within: .zero)
        await registry.close()
        await ledger.close()
        await clients.shutDown()
        await loop.shutDown()
    }

    func connect() throws -> RawClient { try RawClient(unixSocket: server.address) }

    static func text(
        _ method: String, _ path: String, _ body: String = "", roles: String = "register", apps: String? = nil,
        type: String = "application/json"
    ) -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nX-Roles: \(roles)\r\n"
            + (apps.map { "X-Apps: \($0)\r\n" } ?? "")
            + (body.isEmpty ? "" : "Content-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n") + "\r\n\(body)"
    }

    func send(
        _ method: String, _ path: String, _ body: String = "", roles: String = "register", apps: String? = nil,
        type: String = "application/json"
    ) async throws -> RawClient.Answer {
        let text = Self.text(method, path, body, roles: roles, apps: apps, type: type)
        return try await clients.run { [self] in
            let client = try connect()
            try client.send(text)
            return try client.answer()
        }
    }

    /// Returns what a call has changed for operators.
    func changes(
        _ method: String, _ path: String, _ body: String = "", roles: String = "operate", apps: String? = nil,
        status: Int = 200
    ) async throws -> [OperatorChange] {
        changes.withLock { $0 = [] }
        let answer = try await send(method, path, body, roles: roles, apps: apps)
        #expect(answer.status == status, "\(method) \(path): \(answer.text)")
        return changes.withLock { $0 }
    }

    /// Returns all events of the log as lines.
    func events() async throws -> [String] {
        try await EventReader(log: ledger).forward(since: 0, prefix: "", limit: 100_000).lines
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Accepts a message that waits.
    func accept(_ id: String, for user: String, app: AppID = shop) async {
        let message = Message(id: MessageID(id)!, app: app, payload: Array("{}".utf8))
        _ = await withCheckedContinuation { done in
            ledger.accept([PushRequest(message, to: .users([user]))]) { done.resume(returning: $0) }
        }
    }

    /// Records a message to these tokens as sent, without a router, and returns the ids of its deliveries.
    @discardableResult
    func deliver(
        _ id: String, to tokens: [Address], app: AppID = shop, as outcome: DeliveryOutcome = .sent(providerID: nil)
    ) async -> [DeliveryID] {
        let message = Message(id: MessageID(id)!, app: app, payload: Array("{}".utf8))
        let accepted = await withCheckedContinuation { done in
            ledger.accept([PushRequest(message, to: .tokens(tokens))]) { done.resume(returning: $0) }
        }
        guard case .accepted(let seq)? = accepted.first else { return [] }
        let ids = tokens.map { DeliveryID.derived(app: app, message: message.id, token: $0) }
        ledger.record(
            zip(tokens, ids).map { token, id in
                DeliveryRecord(
                    seq: seq, fingerprint: ledger.identities.message(of: app, id: message.id), acceptedAt: .current(),
                    message: message, device: ledger.identities.device(of: app, token: token), deliveryID: id,
                    attempt: 1,
                    outcome: outcome)
            }, completed: [])
        await ledger.flush()
        return ids
    }
}
