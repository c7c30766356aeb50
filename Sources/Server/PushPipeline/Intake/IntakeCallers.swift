/// The rights of clients, and the sender of the last message.
struct IntakeCallers {
    let rights: Rights
    /// The sender of the last message, so that the messages of a run need only one lookup.
    var last: (userID: [UInt8], caller: Caller)?
}
