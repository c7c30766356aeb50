import APNs
package import PushLoop
package import PushModel
package import PushWire

/// The push services that Carillon can send to, one line for each.
package enum PushServices {
    package static let all: [PushService] = [.apns]

    /// Reads the addresses of apps that are not in the configuration.
    package static let unconfigured: any ServiceCodec = all[0].codec
    /// The types of messages of all services.
    package static let messageTypes: [MessageType] = all.flatMap(\.codec.types.all)

    /// Returns the table that has this reason, where nothing says which service gave it; nil if none has it.
    package static func reasons(knowing reason: ProviderReason?) -> ReasonTable? {
        all.map(\.reasons).first { $0.known(reason) != nil }
    }

    /// What to check if a push service rejects too many addresses of an app, where nothing says which service it is.
    package static let misdirection = all.map(\.description.misdirection).joined(separator: "; or ")

    /// Describes a file of a credential. It blocks.
    ///
    /// - Throws: the error of the first service if the file is not one of any service.
    package static func describeCredential(
        in path: String, password: String?, at now: WallTime
    ) throws -> CredentialFileDescription {
        var first: (any Error)?
        for service in all {
            do {
                return try service.readCredential(path, password, now)
            } catch {
                first = first ?? error
            }
        }
        throw first!
    }
}
