import APNs
package import PushModel
package import PushWire

/// The push services that Carillon can send to.
package enum PushServices {
    /// Reads the addresses of apps that are not in the configuration.
    package static let unconfigured: any ServiceCodec = APNsCodec.unconfigured
    /// The types of messages of all services.
    package static let messageTypes: [MessageType] = APNsCodec.types.all
}
