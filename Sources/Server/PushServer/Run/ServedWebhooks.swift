import PushAPI
import PushConfiguration
import PushLogic
import PushLoop
import PushModel
import PushStore
import PushTransport

/// The webhooks of a single node.
final class ServedWebhooks: WebhookService {
    private let parts: Webhook.Dependencies
    private let directory: String
    private let webhooks = Locked<[String: Webhook]>([:])
    private let refused = Locked<[String: StartError]>([:])

    /// Begins the delivery to the webhooks of the configuration.
    ///
    /// - Throws: ``StartError``
    static func open(
        _ pipeline: Pipeline, contexts: TLSContexts, metrics: MetricsRegistry, on base: RunBase
    ) async throws -> any WebhookService {
        let parts = Webhook.Dependencies(
            pipeline, on: base.threads.home, files: base.threads.files, log: base.log)
        let service: any WebhookService
        let running: @Sendable () -> [Webhook]
        if let node = pipeline.node {
            let webhooks = ClusterWebhooks(of: node, with: parts)
            webhooks.begin()
            running = { [weak webhooks] in webhooks?.running.withLock { $0 } ?? [] }
            service = webhooks
        } else {
            let webhooks = ServedWebhooks(parts, in: base.directory.path)
            running = { [weak webhooks] in webhooks?.all ?? [] }
            service = webhooks
        }
        await service.apply(base.configuration, contexts: contexts)
        if let fault = service.faults.min(by: { $0.key < $1.key }) {
            await service.stop()
            throw fault.value
        }
        WebhookMetrics.register(in: metrics) { WebhookReading.all(running()) { parts.newest(of: $0) } }
        return service
    }

    private init(_ parts: Webhook.Dependencies, in directory: String) {
        (self.parts, self.directory) = (parts, directory)
    }

    private var all: [Webhook] {
        webhooks.withLock { $0.values.sorted { $0.name < $1.name } }
    }

    var faults: [String: StartError] { refused.withLock { $0 } }

    func apply(_ configuration: Configuration, contexts: TLSContexts) async {
        // What is removed stops before any file is read: a file system may hang.
        await removeOthers(than: configuration.webhooks.map(\.name))
        var faults: [String: StartError] = [:]
        var new: [LoadedWebhook] = []
        for settings in configuration.webhooks {
            do throws(StartError) {
                let loaded = try await parts.load(settings, contexts: contexts)
                if let known = webhook(settings.name) { await known.use(loaded) } else { new.append(loaded) }
            } catch {
                faults[settings.name] = error
            }
        }
        do {
            try await begin(new)
        } catch {
            for webhook in new { faults[webhook.settings.name] = StartError(.failed, "\(error)") }
        }
        refused.withLock { $0 = faults }
    }

    private func removeOthers(than names: [String]) async {
        let removed = webhooks.withLock { webhooks in
            let removed = webhooks.values.filter { !names.contains($0.name) }
            for webhook in removed { webhooks[webhook.name] = nil }
            return removed
        }
        for webhook in removed { await webhook.stop() }
        do {
            try await parts.files.run { [directory] in WebhookFile.removeOthers(than: names, in: directory) }
        } catch {
            parts.log.warning("cannot remove the positions of removed webhooks", [.error: "\(error)"])
        }
    }

    /// The log ends here for webhooks that are new.
    private func begin(_ new: [LoadedWebhook]) async throws {
        guard !new.isEmpty else { return }
        let bounds = try await parts.events.log.bounds().first ?? LogBounds(oldest: 0, newest: 0)
        parts.waiting.committed(upTo: CollectionOfOne(bounds.newest))
        for loaded in new { await begin(loaded, with: bounds) }
    }

    private func begin(_ loaded: LoadedWebhook, with bounds: LogBounds) async {
        let name = loaded.settings.name
        let file = WebhookFile(of: name, in: directory)
        let machine: WebhookMachine
        do {
            let record = try await parts.files.run { try file.read() }
            machine =
                record.map { WebhookMachine($0) }
                ?? WebhookMachine(WebhookRecord(after: bounds.newest), isStored: false)
        } catch {
            // The file stays as it is until an operator decides: a newer Carillon may be able to read it.
            parts.log.error(
                """
                the position of a webhook cannot be read, and it is disabled; 'carillon webhooks NAME resume' sends \
                everything that is kept again; after 'seek N', only the events after number N
                """,
                [.webhook: name, .file: file.path, .error: "\(error)"])
            parts.announce(EventDraft(.webhookDisabled, ofWebhook: name, reason: WebhookAnswer.Reason.damaged.rawValue))
            machine = WebhookMachine(WebhookRecord(after: bounds.oldest - min(1, bounds.oldest), standing: .damaged))
        }
        let webhook = Webhook(
            loaded, machine: machine, at: WebhookFilePlace(file: file, files: parts.files), parts: parts)
        webhooks.withLock { $0[name] = webhook }
        await webhook.begin()
    }

    func stop() async {
        for webhook in all { await webhook.stop() }
        await parts.endLookUps()
    }

    func own() -> [String: [WebhookAnswer.Part]] { [:] }

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
        case .pause: guard await webhook.pause() else { return await webhook.answer }
        case .resume: await webhook.resume()
        case .seek(let position, let part):
            guard (part ?? 0) == 0 else { throw Problem(.conflict, detail: "the log has one part, 0") }
            let newest = try await parts.events.log.bounds().first?.newest ?? 0
            guard position <= newest else {
                throw Problem(.conflict, detail: "the newest event has the number \(newest)")
            }
            await webhook.seek(to: position)
        }
        do {
            try await webhook.storeNow()
        } catch {
            throw Problem(
                .unavailable, detail: "the change counts, and a restart undoes it: it cannot be stored now: \(error)")
        }
        return await webhook.answer
    }

    func test(_ name: String) async throws -> WebhookTestAnswer? {
        guard let loaded = await webhook(name)?.loaded else { return nil }
        return try await parts.test(loaded)
    }
}
