import PushModel
import PushTime

@testable import PushLogic

/// What the router asks, and the answers of ledger and registry.
extension RouterWalk {
    func answer() {
        guard !questions.isEmpty else { return }
        let question = questions.remove(at: Int.random(in: 0..<questions.count, using: &random))
        let fails = !isWell && chance(6)
        machine.tick(now: now, wall: wall)
        switch question {
        case .page(let page):
            if fails { return machine.pageFailed(for: page.message, error: "locked") }
            if !isWell, chance(40) { return machine.pageRefused(for: page.message, reason: "too deep") }
            machine.pageCame(registryPage(page), for: page.message)
        case .load(let load):
            if fails { return machine.loaded(.failure(LedgerFault("broken")), lane: load.lane, seqs: load.seqs) }
            let messages = load.seqs.compactMap(read)
            // The ledger may end its answer early.
            let count =
                messages.isEmpty || !chance(3) ? messages.count : Int.random(in: 1...messages.count, using: &random)
            machine.loaded(.success(Array(messages.prefix(count))), lane: load.lane, seqs: load.seqs)
        case .claim(let messages, let pages):
            if fails { return machine.claimed([], for: messages) }
            machine.claimed(pages.map(claim), for: messages)
        case .due(let due):
            if fails { return machine.due(.failure(LedgerFault("broken"))) }
            scheduled.sort { $0.time < $1.time }
            scheduled.removeAll { cancelled.contains($0.seq) && $0.time <= due.time && done.contains($0.seq) }
            let ready = scheduled.filter { $0.time <= due.time && !cancelled.contains($0.seq) && isOpen($0.seq) }
                .prefix(due.limit)
            scheduled.removeAll { one in ready.contains { $0.seq == one.seq } }
            waiting.formUnion(ready.map(\.seq))
            machine.due(
                .success(
                    DueMessages(
                        messages: ready.compactMap { read($0.seq) },
                        next: scheduled.first { !cancelled.contains($0.seq) && isOpen($0.seq) }?.time)))
        }
        run()
    }

    func read(_ seq: UInt64) -> AcceptedMessage? {
        guard waiting.contains(seq), !cancelled.contains(seq), let message = accepted[seq] else { return nil }
        return AcceptedMessage(
            seq: seq, acceptedAt: message.acceptedAt, fingerprint: message.fingerprint, message: message.message,
            audience: message.audience, needsClaim: message.needsClaim, counts: tally[seq]!)
    }

    func claim(_ page: ClaimPage) -> [ClaimVerdict] {
        // A part that is being closed claims nothing.
        guard isOpen(page.seq) else { return [] }
        return page.devices.enumerated().map { index, device in
            let key = Claimed(message: page.fingerprint, device: device)
            if ended.contains(Known(seq: page.seq, device: device)) { return .done }
            if let owner = claims[key], owner != page.seq { return .had }
            if index < page.devices.count - page.lookupCount { claims[key] = page.seq }
            return .new
        }
    }

    func release(_ page: ClaimPage) {
        for device in page.devices {
            check(
                cancelled.contains(page.seq) || !isOpen(page.seq)
                    || suppressed.contains(Known(seq: page.seq, device: device)),
                "the claims of \(page.seq) were released")
            let key = Claimed(message: page.fingerprint, device: device)
            check(claims[key] == page.seq, "a claim of another message was released")
            claims[key] = nil
        }
    }

    func registryPage(_ request: RouterActions.PageRequest) -> AudiencePage {
        let app = apps.firstIndex(of: request.app)!
        let start = request.after.flatMap { Int($0.text) } ?? 0
        var devices: [AudiencePage.Device] = []
        var unknown: [DeviceID] = []
        let all: [Int]
        if case .devices(let named) = request.audience {
            all = members(app).filter { named.contains(F.device($0, app: request.app)) }
            if start == 0 {
                unknown = Set(named).filter { one in !all.contains { F.device($0, app: request.app) == one } }
            }
        } else {
            all = Array(members(app))
        }
        let end = min(all.count, start + request.limit)
        for number in all[start..<end] {
            devices.append(.init(id: F.device(number, app: request.app), token: F.token(number)))
        }
        return AudiencePage(
            devices: devices, unknown: unknown, next: end < all.count ? AudienceCursor("\(end)") : nil)
    }
}
