import PushModel
import PushTime

/// The requests in flight: found by tag when the answer comes, and linked in the order of sending, so that the oldest
/// is found at once.
struct InFlightTable {
    private struct Slot {
        var delivery: Delivery?
        var sentAt = MonotonicTime(nanoseconds: 0)
        var generation: UInt32 = 0
        var previous: Int32 = -1
        var next: Int32 = -1
    }

    private var slots: [Slot] = []
    private var free: [Int32] = []
    private var oldest: Int32 = -1
    private var newest: Int32 = -1
    private(set) var count = 0

    var oldestTag: UInt64? { oldest < 0 ? nil : tag(oldest) }
    var oldestSentAt: MonotonicTime? { oldest < 0 ? nil : slots[Int(oldest)].sentAt }

    /// The tag that ``add(_:at:)`` will return next.
    var nextTag: UInt64 {
        free.last.map { tag($0) } ?? UInt64(slots.count)
    }

    /// Adds a delivery and returns its tag, which never identifies a later delivery in the same slot.
    @discardableResult
    mutating func add(_ delivery: consuming Delivery, at time: MonotonicTime) -> UInt64 {
        let slot: Int32
        if let last = free.popLast() {
            slot = last
        } else {
            slot = Int32(slots.count)
            slots.append(Slot())
        }
        let index = Int(slot)
        var moved: Delivery? = delivery
        swap(&slots[index].delivery, &moved)
        slots[index].sentAt = time
        slots[index].previous = newest
        slots[index].next = -1
        if newest >= 0 { slots[Int(newest)].next = slot } else { oldest = slot }
        newest = slot
        count += 1
        return tag(slot)
    }

    /// Returns when a delivery was sent; nil if it is no longer in flight.
    func sentAt(_ tag: UInt64) -> MonotonicTime? { index(of: tag).map { slots[$0].sentAt } }

    /// Removes a delivery. Returns nil if it is no longer in flight.
    mutating func remove(_ tag: UInt64) -> Delivery? {
        guard let index = index(of: tag) else { return nil }
        // Unlike `take()`, this does not copy the delivery, and so counts no references.
        var delivery: Delivery?
        swap(&slots[index].delivery, &delivery)
        let (previous, next) = (slots[index].previous, slots[index].next)
        if previous >= 0 { slots[Int(previous)].next = next } else { oldest = next }
        if next >= 0 { slots[Int(next)].previous = previous } else { newest = previous }
        slots[index].generation &+= 1
        free.append(Int32(index))
        count -= 1
        return delivery
    }

    private func tag(_ slot: Int32) -> UInt64 {
        UInt64(slots[Int(slot)].generation) << 32 | UInt64(slot)
    }

    private func index(of tag: UInt64) -> Int? {
        let index = Int(tag & 0xffff_ffff)
        guard index < slots.count, slots[index].generation == UInt32(tag >> 32), slots[index].delivery != nil else {
            return nil
        }
        return index
    }
}
