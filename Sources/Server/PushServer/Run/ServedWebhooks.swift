import PushAPI
import PushConfiguration
import PushLogic
import PushLoop
import PushModel
import PushStore
import PushTransport

/// The webhooks of the configuration in force.
final class ServedWebhooks: WebhookControl {
    private let parts: Webhook.Dependencies
    private let directory: String
    private let webhooks = Locked<[String: Webhook]>([:])
    /// Names are looked up on threads of their own, so that one that takes long delays only webhooks.
    private let lookUps: BlockingPool

    /// Begins the delivery to the webhooks of the configuration.
    ///
    /// - Throws: ``StartError``
    static func open(_ pipeline: Pipeline, metrics: MetricsRegistry, on base: RunBase) async throws -> ServedWebhooks {
        let webhooks = ServedWebhooks(pipeline, on: base)
        do {
            try await webhooks.apply(base.configuration)
        } catch {
            await webhooks.stop()
            throw error
        }
        let waiting = pipeline.waiting
        WebhookMetrics.register(in: metrics, newest: { waiting.newest[0] }) { [weak webhooks] in
            webhooks?.all.map { ($0.name, $0.reading.withLock { $0 }) } ?? []
        }
        return webhooks
    }

    private init(_ pipeline: Pipeline, on base: RunBase) {
        directory = base.directory.path
        lookUps = BlockingPool(name: "webhooks", threadCount: 4, queueLimit: 256)
        parts = Webhook.Dependencies(
            call: WebhookCall(loop: base.threads.home, resolver: NameResolver(pool: lookUps)),
            events: EventReader(log: pipeline.ledger), waiting: pipeline.waiting, files: base.threads.files,
            log: base.log, announce: { pipeline.announce($0) })
    }

    private var all: [Webhook] {
        webhooks.withLock { $0.values.sorted { $0.name < $1.name } }
    }

    /// Adds, changes and removes webhooks. Calls must not overlap.
    ///
    /// - Throws: ``StartError``. Nothing has changed then.
    func apply(_ configuration: Configuration) async throws {
        if let fault = configuration.webhookFault { throw fault }
        let loaded = try await parts.files.run { try LoadedWebhook.load(configuration.webhooks) }
        let names = Set(loaded.map(\.settings.name))
        let removed = webhooks.withLock { webhooks in
            let removed = webhooks.values.filter { !names.contains($0.name) }
            for webhook in removed { webhooks[webhook.name] = nil }
            return removed
        }
        for webhook in removed { await webhook.stop() }
        let directory = directory
        try await parts.files.run { WebhookFile.removeOthers(than: Array(names), in: directory) }
        guard !loaded.isEmpty else { return }
        // The log ends here for webhooks that are new.
        let newest = try await parts.events.log.bounds().first?.newest ?? 0
        parts.waiting.committed(upTo: CollectionOfOne(newest))
        for one in loaded {
            if let known = webhooks.withLock({ $0[one.settings.name] }) {
                await known.use(one)
            } else {
                try await begin(one, after: newest)
            }
        }
    }

    private func begin(_ loaded: LoadedWebhook, after newest: UInt64) async throws {
        let name = loaded.settings.name
        let file = WebhookFile(of: name, in: directory)
        let machine: WebhookMachine
        do {
            let record = try await parts.files.run { try file.read() }
            machine = record.map { WebhookMachine($0) } ?? WebhookMachine(WebhookRecord(after: newest), isStored: false)
        } catch {
            // Nobody knows what the receiver has had. An operator decides where to go on.
            parts.log.error(
                """
                the position of a webhook cannot be read, and it is disabled; 'carillon webhooks NAME seek N' sets another \
                one, and resume continues
                """,
                [.webhook: name, .file: file.path, .error: "\(error)"])
            var record = WebhookRecord(after: newest)
            record.standing = .disabled
            machine = WebhookMachine(record)
        }
        let webhook = Webhook(loaded, machine: machine, file: file, parts: parts)
        webhooks.withLock { $0[name] = webhook }
        await webhook.begin()
    }

    func stop() async {
        for webhook in all { await webhook.stop() }
        // A look-up that hangs must not delay the end.
        if lookUps.load == (0, 0) { await lookUps.shutDown() }
    }

    // MARK: Operators

    private func webhook(_ name: String) -> Webhook? { webhooks.withLock { $0[name] } }

    func webhooks() async -> [WebhookAnswer] {
        var answers: [WebhookAnswer] = []
        for webhook in all { answers.append(await webhook.answer) }
        return answers
    }

    func webhook(named name: String) async -> WebhookAnswer? { await webhook(name)?.answer }

    func change(_ name: String, by change: WebhookChange) async throws -> WebhookAnswer? {
        guard let webhook = webhook(name) else { return nil }
        switch change {
        case .pause: await webhook.pause()
        case .resume: await webhook.resume()
        case .seek(let position):
            let newest = try await parts.events.log.bounds().first?.newest ?? 0
            guard position <= newest else {
                throw Problem(.conflict, detail: "the newest event has the number \(newest)")
            }
            await webhook.seek(to: position)
        }
        return await webhook.answer
    }

    func test(_ name: String) async throws -> WebhookTestAnswer? {
        guard let webhook = webhook(name) else { return nil }
        guard let answer = await webhook.test() else {
            throw Problem(.unavailable, detail: "another test of this webhook is under way")
        }
        return answer
    }
}
