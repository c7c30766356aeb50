import PushModel
import PushTime

@testable import PushLogic

/// What happens to the router.
extension RouterWalk {
    func accept(_ count: Int) {
        let open = parts.indices.filter { parts[$0] == .open }
        if open.isEmpty { return }
        var batch: [AcceptedMessage] = []
        for _ in 0..<count {
            let app = Int.random(in: 0..<3, using: &random)
            let start = Int.random(in: 0..<30, using: &random)
            let audience: Audience =
                switch Int.random(in: 0..<10, using: &random) {
                case 0...4: F.tokens(start..<start + 1)
                case 5: .tokens((0..<Int.random(in: 2...16, using: &random)).map { F.token(start + $0 / 2) })
                case 6: .tokens((0..<Int.random(in: 17...70, using: &random)).map { F.token(start + $0 * 3 / 4) })
                case 7: .devices((0..<Int.random(in: 1...20, using: &random)).map { F.device($0 * 3, app: apps[app]) })
                case 8: .users(["anna"])
                default: .everyone
                }
            let part = parts.count == 1 ? 0 : open.randomElement(using: &random)!
            let seq = nextSeq[part]
            nextSeq[part] += 1
            // Some messages have the id of another one, whose devices must not get them. It is in the same part.
            let known =
                chance(5)
                ? accepted.values.first { $0.message.app == apps[app] && EventNumber.part(of: $0.seq) == part } : nil
            let isFuture = chance(8)
            let expiresAt: Int64? =
                switch Int.random(in: 0..<8, using: &random) {
                case 0: wall.seconds + Int64.random(in: 0...20, using: &random)
                case 1: 0
                default: nil
                }
            let message = Message(
                id: known?.message.id ?? MessageID("m-\(seq)")!, app: apps[app],
                priority: PushPriority.allCases.randomElement(using: &random)!, expiry: Expiry(expiresAt: expiresAt),
                payload: [1, 2, 3], onUnknown: chance(3) ? .drop : .resend,
                notBefore: isFuture ? UnixSeconds(wall.seconds + Int64.random(in: 0...15, using: &random)) : nil)
            let fingerprint = known?.fingerprint ?? MessageFingerprint(seq)
            let needsClaim = known != nil || audience.named != 1 || audience.isDynamic || chance(3)
            let one = AcceptedMessage(
                seq: seq, acceptedAt: wall, fingerprint: fingerprint, message: message,
                audience: audience, needsClaim: needsClaim,
                isScheduled: message.notBefore.map { $0 > wall.unixSeconds } ?? false)
            if !needsClaim, case .tokens(let tokens) = audience {
                claims[Claimed(message: fingerprint, device: F.identities.device(of: apps[app], token: tokens[0]))] =
                    seq
            }
            accepted[seq] = one
            tally[seq] = OutcomeCounts()
            if let time = message.notBefore, time > wall.unixSeconds {
                scheduled.append((time, seq))
            } else {
                waiting.insert(seq)
            }
            batch.append(one)
        }
        machine.tick(now: now, wall: wall)
        machine.accepted(batch)
    }

    func changeGate(_ app: Int) {
        if !gates[app].out.isEmpty { gates[app].older.append((gates[app].taken, gates[app].out)) }
        gates[app].out = []
        gates[app].isThere.toggle()
        gates[app].taken = 0
        gates[app].window = 0
        gates[app].index = machine.gateChanged(apps[app], isThere: gates[app].isThere)
    }

    /// Cancels some messages, as the ledger does: it returns none of them any more.
    func cancel(_ count: Int) {
        var batch: [CancelOrder] = []
        var claimed: Set<UInt64> = []
        for case .claim(_, let pages) in questions { claimed.formUnion(pages.map(\.seq)) }
        for _ in 0..<count {
            let open = waiting.union(scheduled.map(\.seq)).subtracting(cancelled).filter(isOpen)
            // A claim is seldom on its way when its message is cancelled.
            let some = chance(2) && !open.isDisjoint(with: claimed) ? open.intersection(claimed) : open
            guard let seq = some.sorted().randomElement(using: &random), let message = accepted[seq] else { break }
            cancelled.insert(seq)
            let isDue = waiting.contains(seq)
            let order = CancelOrder(
                number: seq,
                parts: [
                    CancelOrder.Part(
                        seq: seq, lane: isDue ? Lane(of: message.message, to: message.audience) : nil,
                        named: named(message)?.count, begin: message.begin)
                ])
            orders[seq] = order
            batch.append(order)
        }
        machine.tick(now: now, wall: wall)
        machine.cancelled(batch)
    }

    func named(_ message: AcceptedMessage) -> Set<DeviceID>? {
        switch message.audience {
        case .tokens(let tokens): Set(tokens.map { F.identities.device(of: message.message.app, token: $0) })
        case .devices(let devices): Set(devices)
        case .users, .tags, .everyone, .activities: nil
        }
    }

    func note(_ end: CancelEnd) {
        guard let order = orders.removeValue(forKey: end.number), order.parts.count == end.parts.count else {
            return check(false, "an unknown order was answered: \(end)")
        }
        for part in end.parts {
            switch part.fate {
            case .absent:
                // The ledger completes a message that is on disk only.
                guard !done.contains(part.seq) else { continue }
                waiting.remove(part.seq)
                scheduled.removeAll { $0.seq == part.seq }
                done.insert(part.seq)
            case .stopped(let sent, let underWay, let cancelled, let ended):
                stopped[part.seq] = (ended, underWay, cancelled)
                let told = tally[part.seq]!
                check(told.ended == ended && UInt64(told.sent) == sent, "\(part.seq): \(part.fate) is not \(told)")
                let open = gates.flatMap { $0.out + $0.older.flatMap(\.out) }
                    .count { $0.message === accepted[part.seq]?.message }
                check(UInt64(open) == underWay, "\(part.seq): \(underWay) under way, not \(open)")
            case .ending: break
            }
        }
    }

    func pause(_ app: Int) {
        gates[app].isPaused.toggle()
        machine.tick(now: now, wall: wall)
        machine.setPaused(gates[app].isPaused, app: apps[app])
    }

    func drop(_ app: Int) {
        machine.tick(now: now, wall: wall)
        let count = machine.drop(apps[app])
        check(count == nil || !gates[app].isThere, "\(apps[app]) has a gateway, but its messages were dropped")
        if count != nil { droppedUpTo[app] = nextSeq }
    }

    func report(_ app: Int) {
        if let older = gates[app].older.popLast() {
            let reports = older.out.map {
                DeliveryReport(of: $0, chance(2) ? nil : .sent(providerID: nil), latency: .zero)
            }
            comeBack(older.out)
            machine.reported(GatewayReport(app: apps[app], deliveries: reports, credit: 0, taken: older.taken))
        }
        guard gates[app].isThere else { return }
        gates[app].out.shuffle(using: &random)
        if gates[app].recalled < gates[app].asked { answerRecall(app) }
        let count = isWell ? gates[app].out.count : Int.random(in: 0...gates[app].out.count, using: &random)
        let back = gates[app].out.suffix(count)
        gates[app].out.removeLast(count)
        let credit = Int.random(in: isWell ? 1...200 : 0...30, using: &random)
        gates[app].window = gates[app].taken + UInt64(credit)
        let reports = back.map { DeliveryReport(of: $0, outcome(of: $0.message), latency: .zero) }
        for delivery in back { gates[app].unwritten.remove(delivery.ticket) }
        comeBack(back)
        machine.tick(now: now, wall: wall)
        machine.reported(
            GatewayReport(
                app: apps[app], deliveries: reports, credit: credit, taken: gates[app].taken,
                recalled: gates[app].recalled))
    }

    func answerRecall(_ app: Int) {
        gates[app].recalled = gates[app].asked
        let back = gates[app].out.filter { $0.message.isWithdrawn && gates[app].unwritten.contains($0.ticket) }
        let tickets = Set(back.map(\.ticket))
        gates[app].out.removeAll { tickets.contains($0.ticket) }
        gates[app].unwritten.subtract(tickets)
        comeBack(back)
        machine.tick(now: now, wall: wall)
        machine.reported(
            GatewayReport(
                app: apps[app], deliveries: back.map { DeliveryReport(of: $0, nil, latency: .zero) }, credit: 0,
                taken: gates[app].taken, recalled: gates[app].recalled))
        gates[app].window = gates[app].taken
    }

    func comeBack(_ deliveries: some Sequence<Delivery>) {
        for delivery in deliveries {
            tickets.remove(delivery.ticket)
            out.remove(Out(delivery))
        }
    }

    func outcome(of message: Message) -> DeliveryOutcome? {
        let busy = Refusal(status: 503, reason: nil)
        return switch Int.random(in: 0..<(isWell ? 12 : 9), using: &random) {
        case 0: .rejected(Refusal(status: 410, reason: "Unregistered", timestamp: 1), deactivates: .gone)
        case 1: .rejected(busy, deactivates: nil)
        case 2:
            .refused(busy, retryAfter: .milliseconds(Int.random(in: 0...9000, using: &random)), of: message)
        case 3: .unanswered(.timeout, of: message)
        case 4: .expired
        case 5: nil
        default: .sent(providerID: nil)
        }
    }

    func pass(_ duration: Duration) {
        now = now + duration
        wall = WallTime(milliseconds: wall.milliseconds + duration.wholeNanoseconds / 1_000_000)
    }
}
