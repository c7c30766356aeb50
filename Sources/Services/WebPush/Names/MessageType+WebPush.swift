import PushModel

/// Web Push has one kind of message. Carillon has two types of it, with the words of other push services, so that one
/// envelope can mean the same everywhere.
extension MessageType {
    static let background = MessageType(1, word: "background", defaultPriority: .five)
}
