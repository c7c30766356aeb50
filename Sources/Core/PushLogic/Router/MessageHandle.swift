/// The identity of a message in memory. It is not valid any more when the message is done or moved back to disk.
package struct MessageHandle: SlotHandle, CustomStringConvertible {
    let slot: UInt32
    let generation: UInt32

    package var description: String { "\(slot).\(generation)" }
}
