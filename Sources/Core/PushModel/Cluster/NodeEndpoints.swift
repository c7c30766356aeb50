/// The addresses at which producers and programs reach a node.
package struct NodeEndpoints: Hashable, Sendable {
    /// The endpoint of `intake.router`; nil if it is off, or not known yet.
    package var router: String?
    /// The address of `http.listen`; nil if it is off, or not known yet.
    package var http: String?

    package init(router: String? = nil, http: String? = nil) {
        self.router = router
        self.http = http
    }
}
