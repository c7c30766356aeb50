import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The status and header fields of a response.
struct ResponseHead: Sendable, Equatable {
    var status: Int
    var fields: HeaderFields
    var url: URL

    /// The size of the body; nil if the server has not named it, or if it is not that of the decoded body.
    var contentLength: Int64? {
        guard fields["Content-Encoding"].map({ $0.lowercased() == "identity" }) ?? true else { return nil }
        guard let text = fields["Content-Length"], let count = Int64(text), count >= 0 else { return nil }
        return count
    }
}

extension ResponseHead {
    init?(_ response: URLResponse?, url: URL) {
        guard let http = response as? HTTPURLResponse else { return nil }
        status = http.statusCode
        self.url = url
        fields = HeaderFields()
        let pairs = http.allHeaderFields.compactMap { pair -> (String, String)? in
            guard let name = pair.key as? String, let value = pair.value as? String else { return nil }
            return (name, value)
        }
        for (name, value) in pairs.sorted(by: { $0.0 < $1.0 }) { fields.add(value, to: name) }
    }
}
