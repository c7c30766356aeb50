import PushConfiguration
import PushModel
import PushText
import PushWire

/// The content of a message for apps of push services other than Apple's: the options become the plain fields of an
/// envelope, which the codec of the app renders as it does at intake.
extension SendOrder {
    /// Returns the payload that the options describe; nil if none of them is given.
    static func payload(
        _ arguments: Arguments, for app: Configuration.App, options: MessageOptions
    ) throws(Failure) -> [UInt8]? {
        if app.apns != nil || arguments.has("payload") {
            return try PayloadOptions.read(arguments) ?? payload(withoutContent: options.type)
        }
        let fields = try PayloadOptions.fields(arguments)
        guard !fields.isEmpty else { return nil }
        do {
            return try app.codec.payload(fromFields: JSONValue.object(fields).bytes, for: options)
        } catch {
            throw Failure(.badInput, "the content cannot be sent: \(error.detail)")
        }
    }

    /// Throws what intake would reject the payload for.
    static func judge(_ payload: [UInt8], by codec: any ServiceCodec, for options: MessageOptions) throws(Failure) {
        do {
            try codec.judge(payload, for: options)
        } catch {
            throw Failure(.badInput, "nothing was sent: \(error.detail); --anyway sends it")
        }
    }
}
