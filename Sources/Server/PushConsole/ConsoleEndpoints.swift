package import PushAPI
import PushText
import PushTransport

/// The operator console: static files that are compiled into the program.
///
/// The page is at `/`. Its parts are below `/console/HASH/`, where the hash covers all of them: a browser keeps them
/// until another version of the program has others. The page is asked for each time. The files are open to all, because
/// they hold no data; the scripts ask the API with a key of the user.
package enum ConsoleEndpoints {
    static let indexName = "index.html"
    /// The text in the page that stands for the path of its parts.
    static let pathMark = "{assets}"

    package static func all() -> [AnyEndpoint] {
        let path = "/console/\(version)"
        return ConsoleFile.all.map { file in
            guard file.name == indexName else {
                return AnyEndpoint(
                    file: "\(path)/\(file.name)", mediaType: file.mediaType, content: Array(file.text.utf8),
                    headers: headers(cache: "public, max-age=31536000, immutable"))
            }
            let page = file.text.replacing(pathMark, with: path)
            return AnyEndpoint(
                file: "/", mediaType: file.mediaType, content: Array(page.utf8), headers: headers(cache: "no-cache"))
        }
    }

    /// The first digits of a hash over all files and their names.
    static let version: String = {
        var all: [UInt8] = []
        for file in ConsoleFile.all { all += Array(file.name.utf8) + [0] + Array(file.text.utf8) + [0] }
        return String(SHA256.hash(all).hex.prefix(16))
    }()

    /// The header fields of every file. They are set here and not in the page, so that no path can weaken them.
    static func headers(cache: String) -> HTTP1Headers {
        [
            "Cache-Control": cache,
            "Content-Security-Policy":
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
        ]
    }
}
