import PushAPI
import PushConfiguration
import PushLogic
import PushLoop
import PushModel
import PushStore

/// The webhooks of a node of a cluster: it delivers the events of the parts that the node owns.
///
/// The database has where each part is, and whether a webhook is paused or disabled, so that a change holds on all nodes
/// and stays when owners change. Each node looks at it once a second.
actor ClusterWebhooks: WebhookService {
    private struct Served {
        var loaded: LoadedWebhook
        /// The changes that the parts follow.
        var mark: SharedWebhook
        var parts: [Int: (webhook: Webhook, place: WebhookPartPlace)] = [:]
    }

    private let node: ServedNode
    private let parts: Webhook.Dependencies
    private var served: [String: Served] = [:]
    /// What the nodes share, as it was read last.
    private var marks: [String: SharedWebhook] = [:]
    private var isFollowing = false
    private var hasEnded = false
    private nonisolated let refused = Locked<[String: StartError]>([:])
    /// The webhooks of this node, for metrics.
    nonisolated let running = Locked<[Webhook]>([])

    init(of node: ServedNode, with parts: Webhook.Dependencies) {
        (self.node, self.parts) = (node, parts)
    }

    /// Follows what the nodes share from now on, and answers their questions.
    nonisolated func begin() {
        node.whenSharedRead { [weak self] shared in Task { await self?.follow(shared.webhooks) } }
    }

    func stop() async {
        hasEnded = true
        for (name, one) in served {
            for part in one.parts.keys.sorted() { await end(part, of: name) }
        }
        await parts.endLookUps()
    }

    // MARK: Configuration

    nonisolated var faults: [String: StartError] { refused.withLock { $0 } }

    func apply(_ configuration: Configuration, contexts: TLSContexts) async {
        let names = Set(configuration.webhooks.map(\.name))
        // What is removed stops before any file is read: a file system may hang.
        for name in served.keys where !names.contains(name) {
            // It is removed before the first part stops: ``follow`` would begin that one again.
            let removed = served.removeValue(forKey: name)?.parts ?? [:]
            for part in removed.keys.sorted() { if let one = removed[part] { await end(one.webhook) } }
        }
        var faults: [String: StartError] = [:]
        for settings in configuration.webhooks {
            do {
                try await use(try await parts.load(settings, contexts: contexts))
            } catch {
                faults[settings.name] = error as? StartError ?? StartError(.failed, "\(error)")
            }
        }
        refused.withLock { $0 = faults }
        await follow(marks)
    }

    private func use(_ loaded: LoadedWebhook) async throws {
        let name = loaded.settings.name
        guard let running = served[name]?.parts.values else {
            try await add(name)
            served[name] = Served(loaded: loaded, mark: SharedWebhook(changes: -1, standing: ""))
            return
        }
        served[name]?.loaded = loaded
        for part in running { await part.webhook.use(loaded) }
    }

    /// The log ends here for a webhook that is new. One that was there before goes on where it stopped.
    private func add(_ name: String) async throws {
        do {
            guard try await node.ledger.webhookParts(of: name).count < node.ledger.partCount else { return }
            let records = try await node.ledger.bounds().enumerated().map { part, bounds in
                let record = try WebhookRecord(after: bounds.newest).text
                return (part: part, record: record)
            }
            try await node.ledger.addWebhook(name, records: records)
        } catch let error as StoreError {
            throw StartError(.unavailable, error.description)
        }
    }

    private func end(_ part: Int, of name: String) async {
        guard let old = served[name]?.parts.removeValue(forKey: part) else { return }
        await end(old.webhook)
    }

    private func end(_ webhook: Webhook) async {
        running.withLock { $0.removeAll { $0 === webhook } }
        await webhook.stop()
    }

    // MARK: Following

    private func follow(_ marks: [String: SharedWebhook]) async {
        for (name, mark) in marks where mark.changes >= self.marks[name]?.changes ?? -1 { self.marks[name] = mark }
        guard !isFollowing, !hasEnded else { return }
        isFollowing = true
        defer { isFollowing = false }
        let open = Dictionary(uniqueKeysWithValues: node.ledger.openParts.map { ($0.part, $0) })
        for name in served.keys.sorted() {
            do {
                try await follow(name, in: open)
            } catch {
                parts.log.warning(
                    "cannot read the positions of a webhook, retrying", [.webhook: name, .error: "\(error)"])
            }
        }
    }

    /// Ends what this node does not own any more, follows the changes of operators, and begins what it owns now.
    private func follow(_ name: String, in open: [Int: OpenPart]) async throws {
        for (part, one) in served[name]?.parts ?? [:] where open[part] != one.place.part { await end(part, of: name) }
        guard let mark = marks[name], let known = served[name] else { return }
        let new = open.values.filter { known.parts[$0.part] == nil }
        guard !new.isEmpty || mark.changes > known.mark.changes else { return }
        let records = try await node.ledger.webhookParts(of: name)
        guard let standing = WebhookRecord.Standing(rawValue: mark.standing) else { return }
        for (part, one) in known.parts {
            if let stored = records[part], await one.webhook.revision.moves != stored.moves {
                let position = try WebhookRecord(text: stored.record).position
                await one.webhook.seek(to: position, moves: stored.moves)
            }
            guard await mark.changes > one.webhook.revision.changes else { continue }
            await one.webhook.follow(standing, changes: mark.changes)
        }
        for part in new {
            guard let stored = records[part.part], !hasEnded, served[name] != nil else { continue }
            var record = try WebhookRecord(text: stored.record)
            record.standing = standing
            await begin(
                WebhookMachine(record), at: WebhookPartPlace(name: name, part: part, ledger: node.ledger),
                following: WebhookRevision(moves: stored.moves, changes: mark.changes))
        }
        served[name]?.mark = mark
    }

    private func begin(
        _ machine: WebhookMachine, at place: WebhookPartPlace, following revision: WebhookRevision
    ) async {
        guard let loaded = served[place.name]?.loaded else { return }
        parts.waiting.committed(upTo: CollectionOfOne(place.part.newest))
        let webhook = Webhook(
            loaded, machine: machine, at: place, part: place.part.part, revision: revision, parts: parts)
        served[place.name]?.parts[place.part.part] = (webhook, place)
        running.withLock { $0.append(webhook) }
        await webhook.begin()
    }

    // MARK: Operators

    /// The parts that this node delivers, by webhook.
    func own() async -> [String: [WebhookAnswer.Part]] {
        var answer: [String: [WebhookAnswer.Part]] = [:]
        for (name, one) in served {
            for (part, (webhook, _)) in one.parts {
                answer[name, default: []].append(
                    WebhookAnswer.Part(await webhook.answer, part: part, node: node.name.name))
            }
        }
        return answer
    }

    func webhooks() async -> [WebhookAnswer] {
        var parts = await own()
        for (_, answer) in await node.askOthers(NodeQuestion(.webhooks), for: [String: [WebhookAnswer.Part]].self) {
            guard case .success(let others) = answer else { continue }
            parts.merge(others, uniquingKeysWith: +)
        }
        var answers: [WebhookAnswer] = []
        for (name, one) in served.sorted(by: { $0.key < $1.key }) {
            let settings = one.loaded.settings
            answers.append(
                WebhookAnswer(
                    name: name, host: "\(settings.address.endpoint)", prefixes: settings.prefixes,
                    parts: await whole(parts[name] ?? [], of: name)))
        }
        return answers
    }

    /// Adds the parts that no node delivers, as the database has them.
    private func whole(_ found: [WebhookAnswer.Part], of name: String) async -> [WebhookAnswer.Part] {
        // While a part changes hands, two nodes may name it.
        var all = Dictionary(found.map { ($0.part, $0) }) { $0.position > $1.position ? $0 : $1 }
        if all.count < node.ledger.partCount, let records = try? await node.ledger.webhookParts(of: name),
            let bounds = try? await node.ledger.bounds()
        {
            for (part, stored) in records where all[part] == nil && bounds.indices.contains(part) {
                guard let position = try? WebhookRecord(text: stored.record).position else { continue }
                let newest = bounds[part].newest
                all[part] = WebhookAnswer.Part(
                    part: part, state: .unowned, position: EventNumber.within(position),
                    lag: newest - min(newest, position))
            }
        }
        return all.values.sorted { $0.part < $1.part }
    }

    func webhook(named name: String) async -> WebhookAnswer? { await webhooks().first { $0.name == name } }

    func change(_ name: String, by change: WebhookChange) async throws -> WebhookAnswer? {
        guard served[name] != nil else { return nil }
        do {
            switch change {
            case .pause: try await set(name, to: .paused, from: [.active], as: .webhookPaused)
            case .resume: try await set(name, to: .active, from: WebhookRecord.Standing.allCases, as: .webhookResumed)
            case .seek(let position, let part): try await move(name, to: position, in: part)
            }
        } catch let error as StoreError {
            throw Problem(.unavailable, detail: error.description)
        }
        await follow([:])
        return await webhook(named: name)
    }

    private func set(
        _ name: String, to standing: WebhookRecord.Standing, from expected: [WebhookRecord.Standing],
        as kind: EventKind
    ) async throws {
        guard
            let changed = try await node.ledger.setWebhook(
                name, to: standing.rawValue, from: expected.map(\.rawValue))
        else { return }
        marks[name] = changed.mark
        guard changed.before != standing.rawValue else { return }
        parts.announce(EventDraft(kind, ofWebhook: name))
        let word = "\(kind.name)"
        parts.log.notice("webhook \(word)", [.event: "webhook.\(word)", .webhook: name])
    }

    private func move(_ name: String, to position: UInt64, in part: Int?) async throws {
        let bounds = try await node.ledger.bounds()
        guard part != nil || position == 0 else {
            throw Problem(.conflict, detail: "the log has \(bounds.count) parts; 'part' says which of them is meant")
        }
        let moved = part.map { [$0] } ?? Array(bounds.indices)
        let records = try moved.map { part in
            guard bounds.indices.contains(part) else {
                throw Problem(.conflict, detail: "the log has \(bounds.count) parts, and no part \(part)")
            }
            let newest = EventNumber.within(bounds[part].newest)
            guard position <= newest else {
                throw Problem(.conflict, detail: "the newest event of part \(part) has the number \(newest)")
            }
            return (part: part, record: try WebhookRecord(after: EventNumber.base(of: part) + position).text)
        }
        if let mark = try await node.ledger.moveWebhook(name, records: records) { marks[name] = mark }
    }

    func test(_ name: String) async throws -> WebhookTestAnswer? {
        guard let loaded = served[name]?.loaded else { return nil }
        return try await parts.test(loaded)
    }
}
