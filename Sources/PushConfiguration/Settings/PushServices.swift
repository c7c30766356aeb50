import APNs
package import PushModel

/// The push services that Carillon can send to.
package enum PushServices {
    /// The types of messages of all services.
    package static let messageTypes: [MessageType] = APNsCodec.types.all
}
