package import PushModel
package import PushTime

/// What a push service makes of the addresses and messages of one app. It is asked once for each registration, address
/// and message.
package protocol ServiceCodec: Sendable {
    /// The types that messages may have.
    var types: MessageTypes { get }

    /// Reads an address from its text in an envelope or a file.
    func address(_ text: ByteView) throws(AddressFault) -> Address

    /// Reads an address from a JSON object in an envelope or a registration.
    func address(object text: ByteView) throws(AddressFault) -> Address

    /// Reads an address from any of the texts that apps send in a registration.
    func address(givenAs text: String) throws(AddressFault) -> Address

    /// Reads an address from a text that a person has pasted. The faults say what to paste.
    func address(pastedAs text: String) throws(AddressFault) -> Address

    /// Returns the text of an address, from which ``address(_:)`` reads it again.
    func text(of address: Address) -> String

    /// Throws if the app cannot send messages of this type.
    func check(_ type: MessageType) throws(Rejection)

    /// Throws if messages of this type cannot have this priority.
    func check(_ priority: PushPriority, for type: MessageType) throws(Rejection)

    /// The kinds of addresses that the push service has.
    var kinds: [AddressKind] { get }

    /// Returns the kind of the addresses that a message goes to.
    ///
    /// - Parameter values: The values of the payload; nil if it is not a JSON object.
    func kind(of type: MessageType, values: IndexedObject?) -> AddressKind

    /// The largest size of a payload in bytes.
    func payloadLimit(of type: MessageType) -> Int

    /// What the push service can show of the plain fields of an envelope. Others are refused.
    var plainRules: PlainRules { get }

    /// Builds a payload from the plain fields of an envelope, which satisfy ``plainRules``. Equal fields give
    /// equal bytes, independent of their order and white space.
    func payload(from content: PlainContent, for options: MessageOptions) throws(Rejection) -> [UInt8]

    /// The type of messages about Live Activities; nil if the push service has none.
    var activityType: MessageType? { get }

    /// Builds a payload from the member `live_activity` of an envelope. Equal members give equal bytes, apart from the time.
    ///
    /// - Parameter time: The time of the payload, until that of the acceptance is known (``ActivityTimestamp``).
    func payload(
        fromActivity object: IndexedObject, at time: UnixSeconds, for options: MessageOptions
    ) throws(Rejection) -> (bytes: [UInt8], activity: ActivityPart)

    /// Returns what a message does with Live Activities; nil if it does nothing with them.
    ///
    /// - Parameter values: The values of a payload that the producer gave; nil if it is not a JSON object.
    func activity(of type: MessageType, values: IndexedObject?) -> ActivityPart?

    /// Judges a payload as the push service will.
    ///
    /// - Parameter values: The values of the payload; nil if it is not a JSON object.
    /// - Returns: The findings for the ack, as a JSON array; empty without findings.
    func findings(
        in payload: [UInt8], values: IndexedObject?, for options: MessageOptions
    ) throws(Rejection) -> [UInt8]
}

extension ServiceCodec {
    package var kinds: [AddressKind] { [.alert] }

    package func kind(of type: MessageType, values: IndexedObject?) -> AddressKind { .alert }

    package var activityType: MessageType? { nil }

    package func payload(
        fromActivity object: IndexedObject, at time: UnixSeconds, for options: MessageOptions
    ) throws(Rejection) -> (bytes: [UInt8], activity: ActivityPart) { throw withoutActivities }

    package func activity(of type: MessageType, values: IndexedObject?) -> ActivityPart? { nil }

    /// The rejection of `live_activity` for a push service that has no Live Activities.
    var withoutActivities: Rejection {
        Rejection(
            .badPayload,
            detail: "live_activity: \(plainRules.service) has no Live Activities; give alert or payload instead")
    }

    /// The addresses of most push services are texts.
    package func address(object text: ByteView) throws(AddressFault) -> Address {
        throw AddressFault("is an object, not a string")
    }

    package func address(pastedAs text: String) throws(AddressFault) -> Address { try address(givenAs: text) }

    /// Reads an address from the text of a JSON object.
    package func address(object text: String) throws(AddressFault) -> Address {
        let read = ByteView.lending(text) { view in Result { () throws(AddressFault) in try address(object: view) } }
        return try read.get()
    }

    /// Reads an address from its text in an envelope or a file.
    package func address(_ text: String) throws(AddressFault) -> Address {
        // `lending` cannot throw a typed error.
        let read = ByteView.lending(text) { view in Result { () throws(AddressFault) in try address(view) } }
        return try read.get()
    }
}

/// Why a text is no address. The message never repeats the text, which may be one.
package struct AddressFault: Error, Equatable, Sendable {
    /// What is wrong, as the end of a sentence about the text, such as "is empty".
    package let problem: String

    package init(_ problem: String) {
        self.problem = problem
    }
}

/// The options of a message that payloads depend on.
package struct MessageOptions: Sendable {
    package var type: MessageType
    package var priority: PushPriority
    package var expiry: Expiry
    package var collapseID: CollapseID?

    package init(
        type: MessageType = .alert, priority: PushPriority? = nil, expiry: Expiry = .unlimited,
        collapseID: CollapseID? = nil
    ) {
        self.type = type
        self.priority = priority ?? type.defaultPriority
        self.expiry = expiry
        self.collapseID = collapseID
    }
}

/// The types of one push service.
package struct MessageTypes: Sendable {
    package let all: [MessageType]
    let words: WordTable

    package init(_ all: [MessageType]) {
        self.all = all
        words = WordTable(all.map(\.word))
    }
}

/// An object within an indexed text.
package struct IndexedObject {
    package let json: IndexedJSON
    package let root: IndexedJSON.Position

    package init(_ json: IndexedJSON, at root: IndexedJSON.Position) {
        self.json = json
        self.root = root
    }
}
