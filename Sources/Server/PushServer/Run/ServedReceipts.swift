import PushAPI
import PushConfiguration
import PushLoop
import PushModel
import PushTransport
import Receipts

/// The verification of App Store data for the endpoints, by the configuration in force.
///
/// A verification of signed data takes a fraction of a millisecond of computing. It runs on a thread of its own, so that
/// a burst of notifications does not delay the pipeline; the number of those that wait is bounded.
final class ServedReceipts: ReceiptVerification {
    /// What follows from one configuration.
    private struct Setup: Sendable {
        let services: ReceiptServices
        let checker: RevocationChecker
        let client: VerifyReceiptClient
        /// The apps by bundle id, the one that is named first for each.
        let apps: [String: AppID]
    }

    private let setup: Locked<Setup>
    private let loop: EventLoop
    private let resolver: NameResolver
    private let pool = BlockingPool(name: "receipts", threadCount: 1, queueLimit: 256)
    private let log: Logger
    /// The number of old receipts about which Apple's server is being asked. Each waits for it, and is repeated.
    private let asked = Locked(0)
    private static let maxAsked = 64
    /// The time for a responder. Apple expects the answer to a notification soon.
    private static let responderTime: Duration = .seconds(3)
    /// The time of the last logged refusal, and the number of those since.
    private let logged = Locked<(at: MonotonicTime?, skipped: UInt64)>((nil, 0))
    private static let logInterval: Duration = .seconds(1)

    /// Reads the files that the configuration names. Reading blocks.
    ///
    /// - Throws: ``StartError``
    init(
        _ configuration: Configuration, contexts: TLSContexts, on loop: EventLoop, resolver: NameResolver, log: Logger
    ) throws {
        self.loop = loop
        self.resolver = resolver
        self.log = log
        setup = Locked(try Self.setup(configuration, contexts: contexts, on: loop, resolver: resolver))
    }

    /// Applies a new configuration. Reading its files blocks.
    ///
    /// - Throws: ``StartError``. The earlier configuration then stays in force.
    func apply(_ configuration: Configuration, contexts: TLSContexts) throws {
        let new = try Self.setup(configuration, contexts: contexts, on: loop, resolver: resolver)
        // Unknown certificates are limited more strictly, and the App Store must not meet that after each reload.
        new.services.verifier.takeChains(of: setup.withLock { $0.services.verifier })
        setup.withLock { $0 = new }
    }

    func stop() async { await pool.shutDown() }

    private static func setup(
        _ configuration: Configuration, contexts: TLSContexts, on loop: EventLoop, resolver: NameResolver
    ) throws -> Setup {
        let services = try ReceiptServices(configuration, contexts: contexts)
        let transport = CallTransport(on: loop, tls: services.tls, resolver: resolver)
        return Setup(
            services: services,
            checker: RevocationChecker(
                policy: services.revocation, transport: transport, timeLimit: Self.responderTime),
            client: services.client(over: transport),
            apps: Dictionary(
                configuration.apps.compactMap { app in app.apns.map { ($0.topic.text, app.id) } }
            ) { first, _ in first })
    }

    func verify(_ text: String) async throws -> VerifiedData {
        let setup = setup.withLock { $0 }
        let data: VerifiedData
        do {
            data = try await pool.run { try setup.services.verifier.verify(text) }
        } catch is BlockingPoolError {
            throw ReceiptVerificationError.busy
        }
        return try await setup.checker.check(data)
    }

    func signer(claimedBy text: String) -> ClaimedSigner {
        setup.withLock { $0.services.verifier }.signer(claimedBy: text)
    }

    func verify(receipt: String, excludingOldTransactions: Bool) async throws -> ClassicReceipt {
        let isAdmitted = asked.withLock { count in
            guard count < Self.maxAsked else { return false }
            count += 1
            return true
        }
        guard isAdmitted else { throw ReceiptVerificationError.busy }
        defer { asked.withLock { $0 -= 1 } }
        let client = setup.withLock { $0.client }
        return try await client.verify(receipt, excludeOldTransactions: excludingOldTransactions)
    }

    func app(of bundleID: String) -> AppID? { setup.withLock { $0.apps[bundleID] } }

    func refused(_ refusal: ReceiptRefusal) {
        let now = MonotonicTime.current()
        let skipped: UInt64? = logged.withLock { logged in
            if let last = logged.at, now - last < Self.logInterval {
                logged.skipped += 1
                return nil
            }
            defer { logged = (now, 0) }
            return logged.skipped
        }
        guard let skipped else { return }
        var fields: LogFields = [.reason: refusal.code.rawValue, .error: refusal.sentence]
        if skipped > 0 { fields.append(skipped, for: .count) }
        log.warning("App Store notification refused", fields)
    }
}
