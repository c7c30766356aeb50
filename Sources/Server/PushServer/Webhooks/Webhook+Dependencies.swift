import PushAPI
import PushConfiguration
import PushLoop
import PushModel
import PushStore
import PushTransport

extension Webhook {
    /// What all webhooks share.
    struct Dependencies: Sendable {
        let call: WebhookCall
        let events: EventReader
        let waiting: CommittedEvents
        let files: BlockingPool
        let log: Logger
        let partCount: Int
        /// Publishes an event for monitors.
        let announce: @Sendable (EventDraft) -> Void
        /// Names are looked up on threads of their own, so that one that takes long delays only webhooks.
        private let lookUps: BlockingPool
        /// The webhooks with a test under way.
        private let testing = Locked<Set<String>>([])

        init(_ pipeline: Pipeline, on loop: EventLoop, files: BlockingPool, log: Logger) {
            self.init(
                pipeline.ledger, pipeline.waiting, on: loop, files: files, log: log,
                wallClock: pipeline.wallClock
            ) { pipeline.announce($0) }
        }

        init(
            _ ledger: any LedgerEngine, _ waiting: CommittedEvents, on loop: EventLoop, files: BlockingPool,
            log: Logger, wallClock: @escaping @Sendable () -> WallTime,
            announce: @escaping @Sendable (EventDraft) -> Void
        ) {
            lookUps = BlockingPool(name: "webhooks", threadCount: 4, queueLimit: 256)
            call = WebhookCall(loop: loop, resolver: NameResolver(pool: lookUps), wallClock: wallClock)
            events = EventReader(log: ledger)
            (self.waiting, self.files, self.log) = (waiting, files, log)
            partCount = ledger.partCount
            self.announce = announce
        }

        /// The number of the newest event of a part that this process knows, as its records have it.
        func newest(of part: Int) -> UInt64 { EventNumber.base(of: part) + waiting.newest[part] }

        /// Reads the files that the settings of a webhook name.
        func load(_ settings: Configuration.Webhook, contexts: TLSContexts) async throws(StartError) -> LoadedWebhook {
            do {
                return try await files.run { try LoadedWebhook(settings, contexts: contexts) }
            } catch {
                throw error as? StartError ?? StartError(.failed, "\(error)")
            }
        }

        /// Ends the threads. A look-up that hangs must not delay the end.
        func endLookUps() async {
            if lookUps.load == (0, 0) { await lookUps.shutDown() }
        }

        /// Sends one event that is in no log.
        ///
        /// - Throws: ``Problem`` while another one is under way.
        func test(_ webhook: LoadedWebhook) async throws -> WebhookTestAnswer {
            let name = webhook.settings.name
            guard testing.withLock({ $0.insert(name).inserted }) else {
                throw Problem(.unavailable, detail: "another test of this webhook is under way")
            }
            defer { testing.withLock { _ = $0.remove(name) } }
            let id = "msg_" + Hex.encode(SecureRandom.bytes(16))
            let now = WallTime.current().milliseconds
            let body = Array("[{\"v\":1,\"type\":\"webhook.test\",\"webhook\":\"\(name)\",\"at\":\(now)}]".utf8)
            do throws(HTTP1ClientFault) {
                return WebhookTestAnswer(id: id, status: try await call.send(body, id: id, to: webhook).status)
            } catch {
                return WebhookTestAnswer(id: id, fault: error.reason)
            }
        }
    }
}

extension EventDraft {
    /// Creates an event about a webhook.
    init(_ kind: EventKind, ofWebhook name: String, reason: String? = nil) {
        self.init(kind, app: nil)
        self.reason = reason
        add("webhook", text: name)
    }
}
