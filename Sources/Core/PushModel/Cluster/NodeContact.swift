/// The address at which other nodes reach a node, and the key by which they recognize it.
package struct NodeContact: Hashable, Sendable {
    /// The endpoint of `cluster.advertise`, such as `tcp://10.0.0.1:5580`.
    package let address: String
    /// The public CURVE key in Z85.
    package let publicKey: String

    package init(address: String, publicKey: String) {
        self.address = address
        self.publicKey = publicKey
    }
}
