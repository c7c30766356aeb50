extension HTTP1QueryItem {
    /// Returns the fields of a form (`application/x-www-form-urlencoded`), or nil if it is not percent-encoded UTF-8
    /// without NUL.
    package static func items(form body: [UInt8]) -> [HTTP1QueryItem]? {
        guard !body.isEmpty else { return [] }
        // A form has the syntax of a query.
        return String(validating: body, as: UTF8.self).flatMap { try? HTTP1Target("/?" + $0, method: .post).query }
    }
}
