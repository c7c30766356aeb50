import PushConfiguration
import PushTransport

/// The CURVE keys of a node for the other nodes. They are made at the first start, and other nodes find the public key in
/// the database.
enum NodeKeys {
    static let fileName = "node.key"

    static func open(in directory: String) throws(StartError) -> CurveKeyPair {
        try CurveKeyFile.readOrCreate("\(directory)/\(fileName)")
    }
}
