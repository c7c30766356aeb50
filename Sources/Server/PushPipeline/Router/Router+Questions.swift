import PushLogic
import PushModel
import PushTime

/// The router's queries to the ledger and the registry. Results arrive on the router's loop, one batch at a time.
extension Router {
    func ask(_ actions: RouterActions) {
        for load in actions.loads { ask(load) }
        if let due = actions.due { ask(due) }
        if !actions.claims.isEmpty { claim(actions.claims, for: actions.claimants) }
        if !actions.pages.isEmpty { ask(actions.pages) }
    }

    /// Asks for the devices of single users and tags together, and for all other pages one by one.
    private func ask(_ pages: [RouterActions.PageRequest]) {
        var lookUps = LookUps()
        for page in pages {
            guard let lookUp = page.lookUp else {
                ask(page)
                continue
            }
            lookUps.add(lookUp, for: page)
            if lookUps.isFull { ask(exchange(&lookUps, with: LookUps())) }
        }
        if !lookUps.pages.isEmpty { ask(lookUps) }
    }

    /// A look-up without an answer is repeated as a page of its own, so that one that fails each time does not keep
    /// others from their devices.
    private func ask(_ lookUps: LookUps) {
        pagesAwaited += lookUps.pages.count
        Task.detached { [weak self, registry] in
            let found = (try? await registry.pages(of: lookUps.questions)) ?? []
            self?.answer { router in
                router.pagesAwaited -= lookUps.pages.count
                for (index, asked) in lookUps.pages.enumerated() {
                    if index < found.count, let page = found[index] {
                        router.machine.pageCame(page, for: asked.message)
                    } else {
                        router.machine.asksAgain(for: asked.message)
                        router.ask(asked)
                    }
                }
            }
        }
    }

    private func ask(_ load: RouterActions.LoadRequest) {
        ledger.load(load.seqs) { [weak self] result in
            self?.answer { $0.machine.loaded(result, lane: load.lane, seqs: load.seqs) }
        }
    }

    private func ask(_ due: RouterActions.DueRequest) {
        ledger.due(at: due.time, limit: due.limit) { [weak self] result in
            self?.answer { $0.machine.due(result) }
        }
    }

    private func claim(_ pages: [ClaimPage], for messages: [MessageHandle]) {
        ledger.claim(pages) { [weak self] verdicts in
            self?.answer { $0.machine.claimed(verdicts, for: messages) }
        }
    }

    /// Queries one page of devices in a task. A page has up to a thousand devices, so there is no task for each
    /// delivery.
    private func ask(_ page: RouterActions.PageRequest) {
        pagesAwaited += 1
        // The task does not run on the loop: a result that arrives after the loop has stopped is dropped, as those of
        // the ledger are.
        Task.detached { [weak self, registry, zones = settings.zones] in
            let result: PageResult
            do {
                result = .page(try await registry.page(page, in: zones))
            } catch let fault as AudienceFault {
                result = .refused(fault.description)
            } catch let fault as BadCursor {
                // The registry itself created the cursor, so a retry would fail in the same way.
                result = .refused(fault.description)
            } catch {
                result = .failed("\(error)")
            }
            self?.answer {
                $0.pagesAwaited -= 1
                switch result {
                case .page(let devices): $0.machine.pageCame(devices, for: page.message)
                case .refused(let text): $0.machine.pageRefused(for: page.message, reason: text)
                case .failed(let text): $0.machine.pageFailed(for: page.message, error: text)
                }
            }
        }
    }
}

/// Look-ups that are asked together, and the requests for pages that they answer.
private struct LookUps: Sendable {
    private(set) var pages: [RouterActions.PageRequest] = []
    private(set) var questions: [AudienceLookUp] = []

    var isFull: Bool { questions.count >= AudienceLookUp.atOnce }

    mutating func add(_ question: AudienceLookUp, for page: RouterActions.PageRequest) {
        pages.append(page)
        questions.append(question)
    }
}

extension RouterActions.PageRequest {
    /// The look-up that answers the request; nil if it needs more than the devices of one user or tag.
    fileprivate var lookUp: AudienceLookUp? {
        guard after == nil, turn == nil, activityType == nil, preferred.isEmpty, limit >= AudienceLookUp.mostDevices
        else { return nil }
        return AudienceLookUp(audience, app: app, kind: kind, wording: wording)
    }
}

extension Router {
    /// Looks up refused Live Activities, one after the other, until none is left. What cannot be looked up now is
    /// looked up when its next message is refused.
    nonisolated func askAboutRefused() {
        Task.detached { [registry, waits = settings.activityWaits] in
            while true {
                let refused = waits.takeRefused()
                if refused.isEmpty { return }
                for activity in refused where (try? await registry.hasAddress(of: activity)) == true {
                    waits.foundRefused(activity)
                }
            }
        }
    }
}

private enum PageResult {
    case page(AudiencePage)
    /// The registry can never answer this audience.
    case refused(String)
    /// The query failed, and a retry may succeed.
    case failed(String)
}

extension DeviceRegistry {
    /// Returns a page without the devices that have another turn, and those whose users get the message in another app of
    /// the family.
    fileprivate func page(
        _ asked: RouterActions.PageRequest, in zones: @Sendable () -> TimeZones
    ) async throws -> AudiencePage {
        var page = try await wholePage(asked)
        if let turn = asked.turn {
            page = turn.part(of: page, try await sightings(of: page.devices.map(\.id)), in: zones())
        }
        if asked.preferred.isEmpty || page.devices.isEmpty { return page }
        return page.without(
            try await outranked(page.devices.map(\.id), of: asked.audience, by: asked.preferred))
    }

    fileprivate func hasAddress(of activity: RefusedActivity) async throws -> Bool {
        var cursor: AudienceCursor?
        repeat {
            let page = try await page(
                of: .activities([activity.name]), app: activity.app, kind: .activity, after: cursor, limit: 100)
            if !page.devices.isEmpty { return true }
            cursor = page.next
        } while cursor != nil
        return false
    }

    private func wholePage(_ asked: RouterActions.PageRequest) async throws -> AudiencePage {
        if let type = asked.activityType {
            return try await page(
                of: asked.audience, app: asked.app, kind: asked.kind, activityType: type, after: asked.after,
                limit: asked.limit)
        }
        return try await page(
            of: asked.audience, app: asked.app, kind: asked.kind, wording: asked.wording, after: asked.after,
            limit: asked.limit)
    }
}
