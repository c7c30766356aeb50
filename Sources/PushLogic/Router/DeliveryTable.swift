import PushModel

/// The deliveries that have not ended, by ticket. A ticket combines an index in the table with the generation of that
/// slot.
struct DeliveryTable {
    struct Slot {
        var device: DeviceID
        /// The time at which the delivery was last given to a gateway, in milliseconds since 1970.
        var givenAt: Int64
        var message: Int32
        var generation: UInt32
        /// Whether the delivery is at the gateway. Otherwise it waits for another attempt.
        var isOut: Bool
    }

    private(set) var slots: [Slot] = []
    private var free: [Int32] = []

    var count: Int { slots.count - free.count }

    /// Adds a delivery that is sent at once, and returns its ticket.
    mutating func add(_ device: DeviceID, of message: Int, givenAt: Int64) -> UInt64 {
        if let place = free.popLast() {
            let generation = slots[Int(place)].generation
            slots[Int(place)] = Slot(
                device: device, givenAt: givenAt, message: Int32(message), generation: generation, isOut: true)
            return UInt64(generation) << 32 | UInt64(place)
        }
        slots.append(Slot(device: device, givenAt: givenAt, message: Int32(message), generation: 1, isOut: true))
        return 1 << 32 | UInt64(slots.count - 1)
    }

    /// Returns the index of a delivery; nil if the ticket was never issued or the delivery has ended.
    func place(of ticket: UInt64) -> Int? {
        let place = Int(ticket & 0xffff_ffff)
        guard place < slots.count, slots[place].generation == UInt32(truncatingIfNeeded: ticket >> 32) else {
            return nil
        }
        return place
    }

    mutating func gave(_ place: Int, at time: Int64) {
        slots[place].isOut = true
        slots[place].givenAt = time
    }

    mutating func cameBack(_ place: Int) {
        slots[place].isOut = false
    }

    mutating func remove(_ place: Int) {
        slots[place].generation &+= 1
        slots[place].isOut = false
        free.append(Int32(place))
    }
}
