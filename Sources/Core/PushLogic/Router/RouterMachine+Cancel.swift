package import PushModel
import PushTime

/// An order whose messages are stopped, except for deliveries that gateways may still return, and for claims that are on
/// their way.
struct RecallingCancel {
    enum Part {
        case held(MessageHandle)
        case elsewhere(CancelEnd.Fate)
    }

    let number: UInt64
    var parts: [(seq: UInt64, part: Part)]
    /// The gateways that were asked to return deliveries, and the number of each recall.
    var asked: [(app: AppIndex, number: UInt64)] = []
}

/// Cancellation: no delivery of a cancelled message starts, and what did not go out counts as cancelled.
///
/// A message is stopped in three steps. It leaves all queues; the gateway returns the deliveries that it has not given
/// to a connection, and the ledger ends a claim that is on its way; and the order is answered with what had gone out by
/// then. The message is complete when the deliveries in flight have ended.
extension RouterMachine {
    /// Takes orders of the ledger. They are carried out together at the end of the tick, so that the cost of a tick is
    /// one look at the messages in memory, however many orders it has. It does not depend on the messages on disk.
    package mutating func cancelled(_ orders: [CancelOrder]) { cancels.new += orders }

    /// Pauses an app, or lets it continue. While it is paused, nothing of it is sent; its messages still expire.
    package mutating func setPaused(_ isPaused: Bool, app id: AppID) {
        let app = index(of: id)
        apps[app].isPaused = isPaused
        apps[app].isDirty = true
    }

    func isStopped(_ message: MessageHandle) -> Bool { !cancels.stopped.isEmpty && cancels.stopped[message] != nil }

    func isStopped(_ delivery: Delivery) -> Bool {
        !cancels.stopped.isEmpty && isStopped(deliveries[delivery.handle].message)
    }

    func isCancelled(_ delivery: Delivery) -> Bool {
        guard !cancels.stopped.isEmpty, let one = cancels.stopped[deliveries[delivery.handle].message] else {
            return false
        }
        return !one.isLeaving
    }

    // MARK: Stopping

    /// Stops the messages of the new orders.
    mutating func stopCancelled() {
        let orders = cancels.new
        cancels.new = []
        let held = heldMessages(of: orders)
        stopActivities(of: orders, except: held)
        var recalling: [RecallingCancel] = []
        var newlyStopped: [MessageHandle] = []
        for order in orders {
            var one = RecallingCancel(number: order.number, parts: [])
            for part in order.parts {
                guard let message = held[part.seq] else {
                    one.parts.append((part.seq, .elsewhere(.absent)))
                    if let lane = part.lane, !cancels.leftOut.contains(part.seq) {
                        markStale(part.seq, in: lane, since: part.begin)
                    }
                    continue
                }
                if expiry.messages.contains(message) {
                    one.parts.append((part.seq, .elsewhere(.ending)))
                    continue
                }
                messages[message].accepted.message.withdraw()
                cancels.stopped[message] = .cancelled(named: part.named, isAwaited: true)
                newlyStopped.append(message)
                one.parts.append((part.seq, .held(message)))
            }
            recalling.append(one)
        }
        cancels.leftOut = []
        stop(newlyStopped)
        askToReturn(&recalling)
        cancels.recalls += recalling
    }

    /// Takes note of the messages to Live Activities that are not in memory, with one look at all activities.
    private mutating func stopActivities(of orders: [CancelOrder], except held: [UInt64: MessageHandle]) {
        var seqs: Set<UInt64> = []
        for order in orders {
            for part in order.parts where held[part.seq] == nil && part.lane?.isOfActivities == true {
                seqs.insert(part.seq)
            }
        }
        if !seqs.isEmpty { cancelledOnDisk(seqs) }
    }

    /// Returns the messages in memory that the orders concern.
    private func heldMessages(of orders: [CancelOrder]) -> [UInt64: MessageHandle] {
        var wanted: Set<UInt64> = []
        for order in orders { for part in order.parts { wanted.insert(part.seq) } }
        var held: [UInt64: MessageHandle] = [:]
        messages.forEach { handle, message in
            if wanted.contains(message.accepted.seq) { held[message.accepted.seq] = handle }
        }
        return held
    }

    /// Stops messages that were added to `cancels.stopped`: they leave all queues, and the search for their devices ends.
    mutating func stop(_ some: [MessageHandle]) {
        if some.isEmpty { return }
        let loaded = removeFromQueues(some)
        // The deliveries that were dropped may have been the last ones of a message.
        for message in some where messages.contains(message) { stop(message, isLoaded: loaded.contains(message)) }
    }

    /// Removes the messages, and their deliveries that wait for another attempt, from all queues. Returns the messages
    /// that were not begun.
    private mutating func removeFromQueues(_ some: [MessageHandle]) -> Set<MessageHandle> {
        var isRetried = false
        var touched: Set<LaneID> = []
        for message in some {
            touched.insert(messages[message].lane)
            if messages[message].open > 0 { isRetried = true }
        }
        let stopped = cancels.stopped
        var loaded: Set<MessageHandle> = []
        var retries: [Delivery] = []
        for lane in touched {
            loaded.formUnion(lanes[lane].loaded.removeAll { stopped[$0] != nil })
            _ = lanes[lane].ready.removeAll { stopped[$0] != nil }
            if isRetried {
                retries += removeRetries(from: lane)
            }
            apps[lane.app].isDirty = true
        }
        if isRetried {
            var delayed = RetryHeap()
            swap(&delayed, &self.retries)
            for delivery in delayed.removeAll(where: { isStopped($0) }) {
                apps[messages[deliveries[delivery.handle].message].lane.app].retrying -= 1
                retries.append(delivery)
            }
            swap(&delayed, &self.retries)
        }
        for delivery in retries { dropDelivery(delivery) }
        return loaded
    }

    private mutating func removeRetries(from lane: LaneID) -> [Delivery] {
        var queue = DeliveryQueue()
        swap(&queue, &lanes[lane].retryQueue)
        defer { swap(&queue, &lanes[lane].retryQueue) }
        return queue.removeAll { isStopped($0) }
    }

    /// Ends the search for devices of a message, and drops the devices that were found.
    private mutating func stop(_ message: MessageHandle, isLoaded: Bool) {
        let lane = messages[message].lane
        if isLoaded {
            // The message was not begun.
            messages[message].isAllDispatched = true
            return
        }
        guard let fanOut = messages[message].fanOut else {
            if !messages[message].isAllDispatched {
                messages[message].isAllDispatched = true
                lanes[lane].begun -= 1
            }
            return
        }
        lanes[lane].prepared -= fanOut.rest.count + fanOut.next.count
        messages[message].fanOut?.removeRest()
        dropDevices(fanOut.rest, of: message)
        dropDevices(fanOut.next[...], of: message)
        if let index = lookUps.pages.firstIndex(of: message) {
            lookUps.pages.remove(at: index)
            endPageRequest(of: message)
        }
        if let index = lookUps.claims.firstIndex(of: message) {
            lookUps.claims.remove(at: index)
            _ = messages[message].fanOut?.endClaim()
        }
        // An answer that is under way is awaited.
        messages[message].fanOut?.abandonSearch()
        settle(message)
    }

    private mutating func dropDevices(_ devices: ArraySlice<AudiencePage.Device>, of message: MessageHandle) {
        if cancels.stopped[message]?.isLeaving != true {
            messages[message].counts.cancelled &+= UInt32(clamping: devices.count)
        }
        guard messages[message].accepted.needsClaim else { return }
        let accepted = messages[message].accepted
        for device in devices { actions.release(device.id, of: accepted) }
    }

    /// Drops a page that was found or claimed after the message was stopped.
    mutating func dropFound(_ page: [AudiencePage.Device], of message: MessageHandle) {
        dropDevices(page[...], of: message)
        messages[message].fanOut?.endSearch()
        settle(message)
    }

    mutating func dropClaimed(_ page: FanOut.FoundPage, verdicts: [ClaimVerdict], of message: MessageHandle) {
        var claimed: [AudiencePage.Device] = []
        for (index, device) in page.devices.enumerated() where verdicts[index] == .new { claimed.append(device) }
        dropFound(claimed, of: message)
    }

    /// Ends a delivery of a stopped message that is not at the gateway: as cancelled, or without an outcome.
    mutating func dropDelivery(_ delivery: Delivery) {
        let open = deliveries[delivery.handle]
        let message = open.message
        deliveries.remove(delivery.handle)
        apps[messages[message].lane.app].underWay -= 1
        actions.release(open.device, of: messages[message].accepted)
        if cancels.stopped[message]?.isLeaving == true {
            cancels.stopped[message] = .leaving(isWhole: false)
        } else {
            messages[message].counts.cancelled &+= 1
        }
        messages[message].open -= 1
        if messages[message].open == 0, messages[message].isAllDispatched { complete(message) }
    }

    // MARK: Messages on disk

    /// The number of stale numbers of a lane from which on they are removed, if they are an eighth of the lane.
    private static let staleLimit = 1024

    /// Notes that a message on disk was cancelled. Its number stays in the queue, and is removed together with others,
    /// so that the cost of one does not depend on how many wait.
    private mutating func markStale(_ seq: UInt64, in lane: Lane, since begin: WallTime?) {
        let app = index(of: lane.app)
        let lane = LaneID(app: app, kind: LaneKind(lane))
        // Otherwise the message was completed while the order was on its way.
        guard lanes[lane].isOnDisk else { return }
        markStale(seq, in: lane, since: begin)
        guard lanes[lane].stale.count >= Self.staleLimit, lanes[lane].stale.count * 8 > lanes[lane].spilled.count else {
            return
        }
        // Those that are being read are in no queue now.
        let stale = lanes[lane].stale.subtracting(lanes[lane].loading)
        lanes[lane].stale.subtract(stale)
        cancels.staleCount -= stale.count
        counts.queued -= lanes[lane].spilled.removeAll { stale.contains($0) }
    }

    private mutating func markStale(_ seq: UInt64, in lane: LaneID, since begin: WallTime?) {
        guard lanes[lane].stale.insert(seq).inserted else { return }
        cancels.staleCount += 1
        lanes[lane].waits.remove(begin, of: seq)
    }

    /// Notes that messages that are being read were cancelled by orders of this tick, which is not over.
    private mutating func markStale(among seqs: [UInt64], in lane: LaneID) {
        if cancels.new.isEmpty { return }
        let asked = Set(seqs)
        for order in cancels.new {
            for part in order.parts where asked.contains(part.seq) { markStale(part.seq, in: lane, since: part.begin) }
        }
    }

    /// Forgets the stale numbers of a lane that has nothing on disk any more. Their messages were completed while the
    /// orders were on their way, so their numbers were in no queue.
    mutating func forgetStaleIfNoneIsLeft(in lane: LaneID) {
        guard !lanes[lane].stale.isEmpty, !lanes[lane].isOnDisk else { return }
        cancels.staleCount -= lanes[lane].stale.count
        lanes[lane].stale = []
    }

    /// Forgets the stale numbers among those that the ledger was asked for. Returns those that it has not read, and
    /// those that it has.
    ///
    /// - Parameter messages: the messages that it has read, perhaps before they were cancelled.
    mutating func forgetStale(
        _ seqs: [UInt64], unread: [UInt64], read messages: [AcceptedMessage], in lane: LaneID
    ) -> (skipped: Set<UInt64>, read: Set<UInt64>) {
        markStale(among: seqs, in: lane)
        if lanes[lane].stale.isEmpty { return ([], []) }
        var read: Set<UInt64> = []
        var forgotten = Set(seqs.dropLast(unread.count).filter { lanes[lane].stale.remove($0) != nil })
        cancels.staleCount -= forgotten.count
        for message in messages where forgotten.remove(message.seq) != nil {
            lanes[lane].waits.add(message.begin, of: message.seq)
            read.insert(message.seq)
        }
        if !cancels.new.isEmpty { cancels.leftOut.formUnion(forgotten) }
        return (forgotten, read)
    }

    // MARK: Deliveries at gateways

    /// Asks each gateway once to return deliveries of the stopped messages.
    private mutating func askToReturn(_ orders: inout [RecallingCancel]) {
        var asked: [AppIndex: UInt64] = [:]
        for index in orders.indices {
            for case (_, .held(let message)) in orders[index].parts where messages[message].open > 0 {
                let app = messages[message].lane.app
                guard apps[app].hasGate else { continue }
                askToReturn(app, &asked)
                orders[index].asked.append((app, apps[app].recallsAsked))
            }
        }
    }

    /// Asks the gateway of an app to return what it has not given to a connection, unless it was asked already.
    mutating func askToReturn(_ app: AppIndex, _ asked: inout [AppIndex: UInt64]) {
        guard asked[app] == nil else { return }
        apps[app].recallsAsked += 1
        asked[app] = apps[app].recallsAsked
        actions.recalls.append((app, apps[app].recallsAsked))
    }

    /// Returns whether the devices of an order that count as cancelled are known. How many of a page that is being claimed
    /// do is known with the verdicts. A page that is being looked up is dropped without being counted.
    private func isCounted(_ order: RecallingCancel) -> Bool {
        order.asked.allSatisfy { apps[$0.app].recalled >= $0.number }
            && order.parts.allSatisfy {
                if case .held(let message) = $0.part { messages[message].fanOut?.claiming == nil } else { true }
            }
    }

    /// Answers the orders whose devices are counted.
    mutating func endRecalls() {
        var waiting: [RecallingCancel] = []
        var answered: [RecallingCancel] = []
        for order in cancels.recalls {
            if isCounted(order) {
                answered.append(order)
            } else {
                waiting.append(order)
            }
        }
        cancels.recalls = waiting
        if answered.isEmpty { return }
        actions.add(
            answered.map { order in
                CancelEnd(
                    number: order.number,
                    parts: order.parts.map { CancelEnd.Part(seq: $0.seq, fate: fate(of: $0.part)) })
            })
        for order in answered {
            for case (_, .held(let message)) in order.parts {
                if case .cancelled(let named, _)? = cancels.stopped[message] {
                    cancels.stopped[message] = .cancelled(named: named, isAwaited: false)
                }
                if messages[message].open == 0, messages[message].isAllDispatched { complete(message) }
            }
        }
    }

    private func fate(of part: RecallingCancel.Part) -> CancelEnd.Fate {
        switch part {
        case .elsewhere(let fate): return fate
        case .held(let message):
            let counts = messages[message].counts
            let open = UInt64(max(0, messages[message].open))
            var named: UInt64?
            if case .cancelled(let count?, _)? = cancels.stopped[message] { named = UInt64(max(0, count)) }
            return .stopped(
                sent: UInt64(counts.sent), underWay: open,
                cancelled: named.map { $0 - min($0, counts.ended + open) } ?? UInt64(counts.cancelled),
                ended: counts.ended)
        }
    }

    /// Decides whether a message may be completed now. If it was cancelled, all its devices that have no outcome count
    /// as cancelled. If its part was closed and a device is left, it is forgotten.
    mutating func mayComplete(_ message: MessageHandle) -> Bool {
        switch cancels.stopped[message] {
        case nil: return true
        case .cancelled(_, isAwaited: true)?: return false
        case .cancelled(let named, isAwaited: false)?:
            cancels.stopped[message] = nil
            if let named {
                let named = UInt64(max(0, named))
                messages[message].counts.cancelled = UInt32(
                    clamping: named - min(named, messages[message].counts.ended))
            }
            return true
        case .leaving(let isWhole)?:
            cancels.stopped[message] = nil
            if !isWhole { forget(message) }
            return isWhole
        }
    }
}
