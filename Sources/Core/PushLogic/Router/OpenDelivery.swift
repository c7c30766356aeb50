import PushModel
import PushTime

/// A delivery that has not ended.
struct OpenDelivery {
    let device: DeviceID
    let message: MessageHandle
    /// The time at which the delivery was last given to a gateway, in milliseconds since 1970.
    var givenAt: WallTime
    /// Whether the delivery is at the gateway. Otherwise it waits for another attempt.
    var isOut = true
    /// The number of attempts whose answer was lost.
    var lostAnswers: UInt8 = 0
    /// The latest change of owners when the device was found.
    let foundAt: UInt32

    init(to device: DeviceID, of message: MessageHandle, foundAt: UInt32, givenAt: WallTime) {
        self.device = device
        self.message = message
        self.foundAt = foundAt
        self.givenAt = givenAt
    }
}

/// The deliveries that have not ended.
typealias DeliveryTable = SlotTable<DeliveryHandle, OpenDelivery>
