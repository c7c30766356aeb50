import PushModel

/// The identity of a delivery that has not ended. Gateways know it as the ticket of the delivery.
struct DeliveryHandle: SlotHandle {
    let slot: UInt32
    let generation: UInt32

    init(slot: UInt32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }

    init(ticket: UInt64) {
        self.init(slot: UInt32(truncatingIfNeeded: ticket), generation: UInt32(truncatingIfNeeded: ticket >> 32))
    }

    var ticket: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}

extension Delivery {
    var handle: DeliveryHandle { DeliveryHandle(ticket: ticket) }
}
