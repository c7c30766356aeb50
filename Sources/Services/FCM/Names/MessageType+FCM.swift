import PushModel

/// FCM has one kind of message. Carillon has two types of it, with the words of other push services, so that one
/// envelope can mean the same everywhere: an alert may show something, and a background message never does.
extension MessageType {
    static let background = MessageType(1, word: "background", defaultPriority: .five)

    /// What `check --connect` sends, and no producer can: FCM judges it and delivers nothing.
    static let validation = MessageType(255, word: "validation", defaultPriority: .five)
}
